package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/spelling"
)

// aligned writes text with its columns aligned; cells end with a tab.
func aligned(w io.Writer, text func(io.Writer)) error {
	var out bytes.Buffer
	cells := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	text(cells)
	_ = cells.Flush() // a buffer takes everything
	_, err := w.Write(out.Bytes())
	return err
}

// short cuts a text off for a column; the whole text is in the JSON result.
func short(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return string(runes[:width-3]) + "..."
}

// shown returns a name as printed in listings: in quotes, with invisible characters escaped, unless it
// is printable ASCII without a space at either end.
func shown(name string) string {
	odd := func(r rune) bool { return r < ' ' || r > '~' }
	if name == "" || strings.ContainsFunc(name, odd) || strings.TrimSpace(name) != name {
		return spelling.Quote(name)
	}
	return name
}

// named returns a member's name and incarnation, or whichever exists.
func named(name, incarnation string) string {
	switch {
	case incarnation == "":
		return "-"
	case name == "":
		return incarnation
	}
	return fmt.Sprintf("%s (%s)", name, incarnation)
}

// called returns a member's name for a narrow column, its ID if it has none.
func called[Incarnation ~string](name string, inc Incarnation) string {
	switch {
	case inc == "":
		return "-"
	case name == "":
		return grid.MemberInfo{Incarnation: string(inc)}.ID()
	}
	return short(name, 20)
}

// span formats a span of time with the largest units that matter.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < 48*time.Hour:
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// momentAndDistance formats a time with its distance to now.
func momentAndDistance(t, now time.Time) string {
	switch d := t.Sub(now); {
	case t.IsZero():
		return "-"
	case d >= 0:
		return fmt.Sprintf("%s (in %s)", moment(t), span(d))
	default:
		return fmt.Sprintf("%s (%s ago)", moment(t), span(-d))
	}
}

func perSecond(rate float64) string {
	if rate < 10 {
		return fmt.Sprintf("%.1f", rate)
	}
	return grouped(uint64(rate + 0.5))
}

// processes is counted for this noun.
func processes(n int) string {
	if n == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
}

func counted(n int, noun string) string { return spelling.Count(n, noun) }
