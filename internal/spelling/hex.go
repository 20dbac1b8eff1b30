package spelling

import (
	"encoding/hex"
	"strings"
)

// IsHex reports whether text consists of n lower-case hexadecimal digits, as the texts of random
// identifiers do. Each identifier has exactly one text, so texts can be compared.
func IsHex(text string, n int) bool {
	return len(text) == n && strings.Trim(text, "0123456789abcdef") == ""
}

// DecodeHex decodes text into dst and reports whether it consists of the digits of as many bytes. If
// not, dst is unchanged.
func DecodeHex(dst, text []byte) bool {
	if !IsHex(string(text), hex.EncodedLen(len(dst))) {
		return false
	}
	_, err := hex.Decode(dst, text)
	return err == nil
}
