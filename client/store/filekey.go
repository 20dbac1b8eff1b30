package store

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// nameMax is the maximum length of a file name in bytes; the limit in file systems is 255.
const nameMax = 200

// fileOf returns a key's file, relative to the store's directory. Each part of the key is the name
// of a file or directory. Lower-case letters, digits and most signs stay as they are; all other
// bytes, and a dot at the start, become %xx, so that no key leaves the directory, and no two keys
// share a file where the file system ignores case. An empty part is "%". A part that is too long
// becomes several directories; all their names except the last end with "+".
func fileOf(key string) string {
	parts := strings.Split(key, "/")
	for i, part := range parts {
		parts[i] = escape(part)
	}
	return strings.Join(parts, "/")
}

// escape returns the file name for one part of a key.
func escape(part string) string {
	if part == "" {
		return "%"
	}
	var out strings.Builder
	length := 0
	for i := range len(part) {
		if length+len("%xx+") > nameMax {
			out.WriteString("+/")
			length = 0
		}
		c := part[i]
		piece := string(rune(c))
		if !isPlain(c) || c == '.' && length == 0 {
			piece = fmt.Sprintf("%%%02x", c)
		}
		out.WriteString(piece)
		length += len(piece)
	}
	return out.String()
}

// isPlain reports whether a byte stands for itself in a file name.
func isPlain(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("-._=@,~", c) >= 0
}

// keyOf returns the key of a file. ok is false for a file that fileOf does not name.
func keyOf(name string) (key string, ok bool) {
	var out strings.Builder
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == '+' && strings.HasPrefix(name[i:], "+/"):
			i++
		case c == '%':
			var b byte
			if n, _ := fmt.Sscanf(name[i:min(i+3, len(name))], "%%%02x", &b); n == 1 {
				out.WriteByte(b)
				i += 2
			}
		default:
			out.WriteByte(c)
		}
	}
	key = out.String()
	return key, key != "" && fileOf(key) == name
}

// stripeOf returns a file's stripe. The files in a stripe share a lock and a temporary file.
func stripeOf(name string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // A hash takes every write.
	return fmt.Sprintf("%02x", h.Sum32()%256)
}
