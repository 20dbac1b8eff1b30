package s3

import (
	"encoding/base64"
	"mime"
	"strings"
)

// writeKey is the key in the user metadata of the random value of each write.
const writeKey = "snowgrid-write"

// encodeMeta returns the user metadata of an object. Values that a header cannot carry
// unchanged are encoded by RFC 2047, as S3 itself does.
func encodeMeta(meta map[string]string, write string) map[string]string {
	out := make(map[string]string, len(meta)+1)
	for k, v := range meta {
		if !plain(v) {
			v = "=?utf-8?b?" + base64.StdEncoding.EncodeToString([]byte(v)) + "?="
		}
		out[k] = v
	}
	out[writeKey] = write
	return out
}

// decodeMeta is the reverse of encodeMeta, for objects of others as well. The random value
// of the write is "" if there is none.
func decodeMeta(meta map[string]string) (out map[string]string, write string) {
	out = make(map[string]string, len(meta))
	for k, v := range meta {
		if k = strings.ToLower(k); k == writeKey {
			write = v
			continue
		}
		if d, err := new(mime.WordDecoder).DecodeHeader(v); err == nil {
			v = d
		}
		out[k] = v
	}
	return out, write
}

// plain reports whether a header keeps v as it is: printable ASCII without spaces at the
// ends, and not the form of an encoded value.
func plain(v string) bool {
	for i := range len(v) {
		if v[i] < ' ' || v[i] > '~' {
			return false
		}
	}
	return strings.TrimSpace(v) == v && !strings.Contains(v, "=?")
}
