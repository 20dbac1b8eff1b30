package main

import (
	"github.com/alecthomas/kong"

	"github.com/snowgrid/snowgrid/security"
)

// patternList is a flag with name patterns. An empty value, as a variable that is not set gives it, is one
// empty pattern, which is refused: no pattern means all names.
type patternList []security.Pattern

func (l *patternList) Decode(ctx *kong.DecodeContext) error {
	var text string
	if err := ctx.Scan.PopValueInto("patterns", &text); err != nil {
		return err
	}
	names := kong.SplitEscaped(text, ',')
	if len(names) == 0 {
		names = []string{""}
	}
	for _, n := range names {
		*l = append(*l, security.Pattern(n))
	}
	return nil
}
