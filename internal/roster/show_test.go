package roster_test

import (
	"fmt"
	"strings"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// show prints a roster.
func show(r *roster.Roster) string {
	var b strings.Builder
	fmt.Fprintf(&b, "version %d ceiling %d time %d window %d", r.Version, r.Ceiling, r.Time, r.Settings.Window)
	if r.Stopped != 0 {
		fmt.Fprintf(&b, " stopped %d", r.Stopped)
	}
	b.WriteString("\nmembers")
	for _, m := range r.Members {
		b.WriteString(" " + string(m.Incarnation))
	}
	for at, i := range r.Unsettled {
		if at == 0 {
			b.WriteString(", unsettled")
		}
		b.WriteString(" " + string(i))
	}
	b.WriteByte('\n')
	for id, p := range r.Partitions {
		if p.Owner == "" {
			fmt.Fprintf(&b, "%d: no owner\n", id)
			continue
		}
		fmt.Fprintf(&b, "%d: owner %s in sync %s", id, p.Owner, p.InSync)
		if p.Joining != "" {
			fmt.Fprintf(&b, " joining %s", p.Joining)
		}
		fmt.Fprintf(&b, " term %d floor %d lost %d\n", p.Term, p.Floor, p.LostTerm)
	}
	return letters(b.String())
}

// showCommand prints a command, a part after the other.
func showCommand(c roster.Command) string {
	out := fmt.Sprintf("from %d:", c.From)
	if c.Raise != nil {
		return fmt.Sprintf("%s raise %d\n", out, c.Raise.Time)
	}
	for _, m := range c.Change.Join {
		out += " join " + string(m.Incarnation)
	}
	for _, i := range c.Change.Remove {
		out += " remove " + string(i)
	}
	for _, l := range c.Change.Lose {
		out += fmt.Sprintf("\n  lose %d to %s", l.Partition, l.Owner)
		if len(l.With) > 0 {
			out += fmt.Sprintf(" with %s", l.With)
		}
	}
	for _, kind := range []struct {
		verb  string
		moves []roster.Replica
	}{{"take", c.Change.Take}, {"add", c.Change.Add}, {"admit", c.Change.Admit}, {"drop", c.Change.Drop}} {
		for _, m := range kind.moves {
			out += fmt.Sprintf("\n  %s %d %s", kind.verb, m.Partition, m.Member)
		}
	}
	if len(c.Change.Settle) > 0 {
		out += fmt.Sprintf("\n  settle %s", c.Change.Settle)
	}
	if len(c.Change.Doubt) > 0 {
		out += fmt.Sprintf("\n  doubt %s", c.Change.Doubt)
	}
	if c.Change.Window != 0 {
		out += fmt.Sprintf("\n  window %d", c.Change.Window)
	}
	if c.Change.Granted != 0 {
		out += fmt.Sprintf("\n  granted %d", c.Change.Granted)
	}
	return letters(out) + "\n"
}

// letters undoes incarnation throughout a text.
func letters(text string) string {
	for _, member := range "abcdef" {
		long := strings.Repeat(string(member), 16) + "-" + strings.Repeat("0", 15)
		text = strings.ReplaceAll(text, long, string(member))
	}
	return text
}
