package ledger_test

import (
	"math/rand/v2"
	"testing"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/proof/ledger"
	"github.com/snowgrid/snowgrid/sequencer"
)

const begin = 1_800_000_000_000

func define(t *testing.T) sequencer.Definition {
	t.Helper()
	def, err := sequencer.Define("a", sequencer.Config{Epoch: epoch.Default, Nodes: 128})
	if err != nil {
		t.Fatal(err)
	}
	return def
}

func holding(node sequencer.NodeID, id byte) ledger.Holding {
	return ledger.Holding{Name: "a", Node: node, ID: attachment.ID{id}}
}

func grant(from, until int64) attachment.Grant {
	return attachment.Grant{From: clustertime.Tick(begin + from), Until: clustertime.Tick(begin + until)}
}

// ids returns count IDs from a counter of a millisecond on; they may reach into
// the next milliseconds.
func ids(t *testing.T, node sequencer.NodeID, at int64, counter uint32, count int) []sequencer.ID {
	t.Helper()
	def := define(t)
	var out []sequencer.ID
	for range count {
		p := sequencer.Parts{Time: epoch.UnixMilli(begin + at).Time(), Node: node, Counter: counter}
		id, err := def.Compose(p)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, id)
		if counter++; counter == 1<<16 {
			at, counter = at+1, 0
		}
	}
	return out
}

func TestGranted(t *testing.T) {
	l := ledger.New()
	steps := []struct {
		what   string
		h      ledger.Holding
		g      attachment.Grant
		refuse bool
	}{
		{"the first", holding(1, 1), grant(0, 10), false},
		{"the same again, longer", holding(1, 1), grant(0, 20), false},
		{"another right after it", holding(1, 2), grant(20, 30), false},
		{"one that overlaps both", holding(1, 3), grant(19, 21), true},
		{"the first, too long now", holding(1, 1), grant(0, 21), true},
		{"another node", holding(2, 3), grant(0, 30), false},
		{"a third after a gap", holding(1, 3), grant(40, 50), false},
		{"the second, into the gap", holding(1, 2), grant(20, 40), false},
		{"the second, beyond the gap", holding(1, 2), grant(20, 41), true},
		{"one around everything", holding(1, 4), grant(-5, 100), true},
		{"an empty one", holding(1, 4), grant(5, 5), false},
	}
	for _, s := range steps {
		if err := l.Granted(s.h, s.g); (err != nil) != s.refuse {
			t.Errorf("%s: %v", s.what, err)
		}
	}
}

func TestReleased(t *testing.T) {
	l := ledger.New()
	_ = l.Granted(holding(1, 1), grant(0, 20))
	l.Released(holding(1, 1), begin+4)
	if err := l.Granted(holding(1, 2), grant(4, 30)); err == nil {
		t.Error("a timestamp that was used is granted again")
	}
	if err := l.Granted(holding(1, 2), grant(5, 30)); err != nil {
		t.Error(err)
	}
}

func TestIssued(t *testing.T) {
	l := ledger.New()
	_ = l.Granted(holding(1, 1), grant(0, 20))
	_ = l.Granted(holding(1, 2), grant(20, 30))
	def := define(t)
	steps := []struct {
		what   string
		handle string
		h      ledger.Holding
		ids    []sequencer.ID
		refuse bool
	}{
		{"some", "x", holding(1, 1), ids(t, 1, 0, 0, 10), false},
		{"those that follow", "x", holding(1, 1), ids(t, 1, 0, 10, 10), false},
		{"the last one again", "y", holding(1, 1), ids(t, 1, 0, 19, 2), true},
		{"one below the last", "x", holding(1, 1), ids(t, 1, 0, 5, 1), true},
		{"over the end of a millisecond", "x", holding(1, 1), ids(t, 1, 3, 1<<16-2, 4), false},
		{"the first of that millisecond again", "z", holding(1, 1), ids(t, 1, 4, 0, 1), true},
		{"another attachment's timestamp", "x", holding(1, 1), ids(t, 1, 20, 0, 1), true},
		{"a timestamp that was not granted", "x", holding(1, 2), ids(t, 1, 30, 0, 1), true},
		{"another node's", "x", holding(1, 2), ids(t, 2, 25, 0, 1), true},
		{"the next attachment of the node", "x", holding(1, 2), ids(t, 1, 25, 0, 1), false},
	}
	for _, s := range steps {
		if err := l.Issued(s.handle, s.h, def, s.ids); (err != nil) != s.refuse {
			t.Errorf("%s: %v", s.what, err)
		}
	}
}

// TestAgainstSet holds the intervals against a plain set of IDs.
func TestAgainstSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	def := define(t)
	duplicates := 0
	for range 20 {
		l := ledger.New()
		_ = l.Granted(holding(1, 1), grant(0, 50))
		known := map[sequencer.ID]bool{}
		for {
			some := ids(t, 1, rng.Int64N(40), rng.Uint32N(1<<16), 1+rng.IntN(20_000))
			twice := false
			for _, id := range some {
				twice = twice || known[id]
				known[id] = true
			}
			l.Forget("x")
			if err := l.Issued("x", holding(1, 1), def, some); (err != nil) != twice {
				t.Fatalf("%v, and an ID was made twice: %v", err, twice)
			}
			if twice {
				duplicates++
				break
			}
		}
	}
	if duplicates == 0 {
		t.Error("no duplicate was ever made")
	}
}
