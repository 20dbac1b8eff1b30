package kongdocs

import (
	"fmt"
	"strings"
)

// ValueError returns an error of kong about a flag's value in plain words, and any other error as it is.
func ValueError(err error) error {
	text := err.Error()
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
