package kongdocs

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// notNumber matches an error of kong about a text in the place of a number.
var notNumber = regexp.MustCompile(`^(.*: )expected a valid \d+ bit (u?int) but got (".*")$`)

// ValueError returns an error of kong about a value in plain words, and any other error as it is.
func ValueError(err error) error {
	if word, arg := NegativeArgument(err); arg != nil && isNumeric(arg.Target.Type()) {
		return fmt.Errorf("<%s>: %q is not a whole number from 0 up", arg.Name, word)
	}
	text := err.Error()
	if match := notNumber.FindStringSubmatch(text); match != nil {
		return fmt.Errorf("%s%s is not a whole number%s", match[1], match[3],
			map[string]string{"int": "", "uint": " from 0 up"}[match[2]])
	}
	if flag, level, is := strings.Cut(text, "slog: level string "); is {
		return fmt.Errorf("%s%s: give debug, info, warn or error", flag, strings.TrimSuffix(level, ": unknown name"))
	}
	if flag, is := strings.CutSuffix(text, ` value but got "EOL" (<EOL>)`); is {
		flag, kind, _ := strings.Cut(flag, ": expected ")
		if kind == "value" { // of a type that parses its own text
			return fmt.Errorf("%s: the value is missing", flag)
		}
		return fmt.Errorf("%s: the value is missing; give one of type %s", flag, kind)
	}
	return err
}

// negative matches a word that kong reads as a flag and that is a number.
var negative = regexp.MustCompile(`^-[0-9.]`)

// NegativeArgument returns the first negative number that kong has taken for an unknown flag, and the argument of the
// command that is in its place; nil if err is another one, or if the command has all its arguments.
func NegativeArgument(err error) (word string, arg *kong.Positional) {
	parse, is := errors.AsType[*kong.ParseError](err)
	if !is || parse.Context == nil || parse.Context.Selected() == nil ||
		!negative.MatchString(strings.TrimPrefix(err.Error(), "unknown flag ")) {
		return "", nil
	}
	given := 0
	for _, path := range parse.Context.Path {
		if path.Positional != nil {
			given++
			arg = path.Positional
		}
	}
	switch args := parse.Context.Selected().Positional; {
	case given < len(args):
		arg = args[given]
	case arg == nil || arg.Target.Kind() != reflect.Slice: // the last one takes as many as there are
		return "", nil
	}
	at := slices.IndexFunc(parse.Context.Args, negative.MatchString)
	if at < 0 {
		return "", nil
	}
	return parse.Context.Args[at], arg
}

// isNumeric reports whether a type is one of whole numbers, or a list of them.
func isNumeric(t reflect.Type) bool {
	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64
}
