// Package digits reads the texts of random identifiers: a fixed number of lower-case hexadecimal
// digits. Each identifier has exactly one text, so texts can be compared.
package digits

import (
	"encoding/hex"
	"strings"
)

// Are reports whether text consists of n lower-case hexadecimal digits.
func Are(text string, n int) bool {
	return len(text) == n && strings.Trim(text, "0123456789abcdef") == ""
}

// Decode decodes text into dst and reports whether it consists of the digits of as many bytes. If
// not, dst is unchanged.
func Decode(dst, text []byte) bool {
	if !Are(string(text), hex.EncodedLen(len(dst))) {
		return false
	}
	_, err := hex.Decode(dst, text)
	return err == nil
}
