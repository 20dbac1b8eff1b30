// Package spelling has the rules for texts that identify: which characters a name may have, patterns of
// names, and identifiers in hexadecimal digits.
package spelling

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxPlain is the maximum number of bytes of a plain text.
const MaxPlain = 255

// IsPlain reports whether a text is UTF-8 of at most MaxPlain bytes that is safe to print: without
// control characters.
func IsPlain(text string) bool {
	return len(text) <= MaxPlain && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// Fault returns how a text prints like another one, "" if it does not: it begins or ends with
// a space, or contains a character other than the space that renders as nothing or as a gap, or U+FFFD,
// which decoders put in the place of any bytes that are not UTF-8. A text
// that enters is checked; one that is stored is read as it is.
func Fault(text string) string {
	if strings.HasPrefix(text, " ") || strings.HasSuffix(text, " ") {
		return "begins or ends with a space"
	}
	position := 0
	for _, r := range text {
		position++
		if isInvisible(r) {
			return fmt.Sprintf("contains the invisible character %U at position %d", r, position)
		}
		if r == utf8.RuneError {
			return fmt.Sprintf("contains U+FFFD at position %d, in the place of bytes that were not UTF-8", position)
		}
	}
	return ""
}

// FaultOfGrid is [Fault] for the name of a new grid, which has no space: it is a word in configuration
// files, addresses of certificates and metrics.
func FaultOfGrid(name string) string {
	fault := Fault(name)
	if at := strings.IndexByte(name, ' '); fault == "" && at >= 0 {
		return fmt.Sprintf("contains a space at position %d", utf8.RuneCountInString(name[:at])+1)
	}
	return fault
}

// Quote is [strconv.Quote] with the invisible characters escaped, which that leaves if they are
// printable by their category.
func Quote(text string) string {
	var out strings.Builder
	for _, r := range strconv.Quote(text) {
		if isInvisible(r) {
			out.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// isInvisible reports whether a character other than the space renders as nothing or as a gap:
// separators, format characters, the other code points with the property Default_Ignorable_Code_Point
// (fillers, joiners, variation selectors), the empty Braille pattern and the null notehead.
func isInvisible(r rune) bool {
	return r != ' ' && unicode.In(r, unicode.Cf, unicode.Z, unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point) || r == '\u2800' || r == '\U0001d159'
}
