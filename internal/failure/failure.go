// Package failure makes errors that match a sentinel without repeating its text.
//
// A sentinel is the kind of an error, for code, and has a sentence for messages without
// any other text. An error with a text of its own needs only the kind: with %w its message
// would have two prefixes and, if errors of one kind are nested, the same sentence twice.
package failure

import (
	"fmt"
)

// Errorf returns an error whose text is that of [fmt.Errorf] and which matches of,
// and whatever the format wraps with %w.
func Errorf(of error, format string, args ...any) error {
	return &failed{text: fmt.Errorf(format, args...), of: of}
}

type failed struct{ text, of error }

func (f *failed) Error() string   { return f.text.Error() }
func (f *failed) Unwrap() []error { return []error{f.of, f.text} }
