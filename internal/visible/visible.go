// Package visible refuses texts that print like another one.
package visible

import (
	"fmt"
	"strings"
	"unicode"
)

// Fault returns how a text prints like another one, "" if it does not: it begins or ends with
// a space, or contains a format or separator character other than the space. A text that enters
// is checked; one that is stored is read as it is.
func Fault(text string) string {
	if strings.HasPrefix(text, " ") || strings.HasSuffix(text, " ") {
		return "begins or ends with a space"
	}
	for _, r := range text {
		if r != ' ' && unicode.In(r, unicode.Cf, unicode.Z) {
			return fmt.Sprintf("contains the invisible character %U", r)
		}
	}
	return ""
}
