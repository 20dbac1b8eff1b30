package s3

import (
	"encoding/base64"
	"mime"
	"strings"
)

// writeKey is the user metadata key for each write's random value.
const writeKey = "snowgrid-write"

// encodeMeta returns an object's user metadata. Values that a header cannot carry unchanged are
// encoded by RFC 2047, as S3 itself does.
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

// decodeMeta reverses encodeMeta, also for objects from other programs. The write's random value is
// "" if there is none.
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

// plain reports whether a header keeps v unchanged: printable ASCII without spaces at the ends, and
// not in the form of an encoded value.
func plain(v string) bool {
	for i := range len(v) {
		if v[i] < ' ' || v[i] > '~' {
			return false
		}
	}
	return strings.TrimSpace(v) == v && !strings.Contains(v, "=?")
}
