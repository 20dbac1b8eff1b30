package host

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/grid/internal/definitions"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire/member"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestMemberShowsItsDisk: a disk is shown to the owner of a term after a loss when this
// member has learned of the loss, not before, and not to an owner of an earlier term; a
// partition that was never stored is not shown as an empty one (D6).
func TestMemberShowsItsDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLonely(t)
		dir := t.TempDir()
		if err := definitions.Create(dir, ownerInc.Member()); err != nil {
			t.Fatal(err)
		}
		store, err := definitions.Open(dir, ownerInc.Member())
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		l.m.definitions = store
		ask := func(term, lost roster.Term) (member.CollectResponse, error) {
			return l.m.Collect(t.Context(), member.CollectRequest{Partition: 0, Term: term, Lost: lost})
		}
		if out, err := ask(l.term, l.term); err == nil {
			t.Errorf("of a partition that was never stored it shows %+v", out)
		}
		definition, err := sequencer.Define("orders", sequencer.Config{})
		if err != nil {
			t.Fatal(err)
		}
		record := partition.DefinitionRecord{Ref: attachment.Ref{Definition: definition, Life: attachment.Life{7}}}
		whole := partition.Definitions{Base: 5, Records: []partition.DefinitionRecord{record}}
		write := definitions.Write{Position: backup.Position{Term: 1},
			DefinitionChange: partition.DefinitionChange{Whole: &whole}}
		if _, err := store.Commit(roster.GridID{1}, []definitions.Write{write}); err != nil {
			t.Fatal(err)
		}
		for what, c := range map[string]struct{ term, lost roster.Term }{
			"before it knows the loss": {l.term + 1, l.term + 1},
			"to an owner of before":    {l.term - 1, l.term - 1},
			"without a loss":           {l.term, 0},
		} {
			if out, err := ask(c.term, c.lost); !errors.Is(err, sequencer.ErrUnavailable) || len(out.Definitions.Records) > 0 {
				t.Errorf("%s: %+v, %v", what, out, err)
			}
		}
		out, err := ask(l.term, l.term)
		if err != nil || len(out.Definitions.Records) != 1 || out.Definitions.Base != 5 || out.More {
			t.Errorf("to the owner after the loss: %+v, %v", out, err)
		}
	})
}
