package definitions_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/grid/internal/definitions"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

const member roster.MemberID = "0123456789abcdef"

var aGrid = roster.GridID{7}

// record returns a record of a name; seed varies everything else.
func record(tb rapid.TB, name string, seed int64) definitions.Record {
	cfg := sequencer.Config{Epoch: epoch.UnixMilli(seed), Nodes: 128 << (seed % 7)}
	if seed%5 == 0 {
		cfg.Layout, cfg.Nodes = sequencer.Twitter(), 16<<(seed%7)
	}
	if seed%2 == 0 {
		cfg.NodeRange = sequencer.NodeRange{Lo: sequencer.NodeID(seed % 15), Hi: 15}
	}
	d, err := sequencer.Define(name, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	r := definitions.Record{Ref: attachment.Ref{
		Definition: d, Life: attachment.Life{1, byte(seed)}, Born: attachment.Revision{Term: 3, Number: uint64(seed)},
	}}
	if seed%3 == 0 {
		r.Destroyed, r.Mark = true, clustertime.Tick(1_000_000+seed)
	}
	return r
}

func at(term roster.Term, number uint64) definitions.Position {
	return definitions.Position{Term: term, Number: number}
}

// newStore returns an empty store, and its directory.
func newStore(t *testing.T) (*definitions.Store, string) {
	t.Helper()
	dir := t.TempDir()
	if err := definitions.Create(dir, member); err != nil {
		t.Fatal(err)
	}
	return open(t, dir), dir
}

func open(t *testing.T, dir string) *definitions.Store {
	t.Helper()
	s, err := definitions.Open(dir, member)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// commit makes writes in as many transactions as they take.
func commit(tb rapid.TB, s *definitions.Store, writes ...definitions.Write) {
	for len(writes) > 0 {
		n, err := s.Commit(aGrid, writes)
		if err != nil || n == 0 {
			tb.Fatalf("%d of %d writes: %v", n, len(writes), err)
		}
		writes = writes[n:]
	}
}

func load(tb rapid.TB, s *definitions.Store, id roster.PartitionID) definitions.Table {
	table, _, err := s.Load(id)
	if err != nil {
		tb.Fatal(err)
	}
	return table
}

// TestStoredTablesAreThereAgain: after any writes, whole ones and changes, of several
// partitions, the store has exactly the last table of each, also when it is opened again.
func TestStoredTablesAreThereAgain(t *testing.T) {
	const partitions = 3
	rapid.Check(t, func(rt *rapid.T) {
		s, dir := newStore(t)
		model := map[roster.PartitionID]map[string]definitions.Record{}
		tables := map[roster.PartitionID]definitions.Table{}
		names := rapid.SampledFrom([]string{"a", "b", "c", "orders", "bills", "ä", strings.Repeat("x", 255)})
		written := map[roster.PartitionID]bool{}
		write := func(rt *rapid.T, id roster.PartitionID) definitions.Write {
			before := tables[id].Position
			table := definitions.Table{Position: at(before.Term+1, before.Number+1)}
			table.Base = clustertime.Tick(rapid.Int64Range(0, 1<<50).Draw(rt, "base"))
			var change partition.DefinitionChange
			whole := !written[id] || rapid.Bool().Draw(rt, "whole")
			if whole {
				model[id] = map[string]definitions.Record{}
			} else {
				change.Base = table.Base
				change.Removed = rapid.SliceOfNDistinct(names, 0, 3, rapid.ID).Draw(rt, "removed")
			}
			for _, name := range change.Removed {
				delete(model[id], name)
			}
			for name, seed := range rapid.MapOfN(names, rapid.Int64Range(1, 60), 0, 5).Draw(rt, "records") {
				model[id][name] = record(rt, name, seed)
				change.Changed = append(change.Changed, model[id][name])
			}
			for _, r := range model[id] {
				table.Records = append(table.Records, r)
			}
			slices.SortFunc(table.Records, byName)
			if whole {
				change = partition.DefinitionChange{Whole: &table.Definitions}
			}
			tables[id], written[id] = table, true
			return definitions.Write{Partition: id, Position: table.Position, DefinitionChange: change}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"commit": func(rt *rapid.T) {
				var writes []definitions.Write
				for id := range roster.PartitionID(partitions) {
					if rapid.Bool().Draw(rt, "written") {
						writes = append(writes, write(rt, id))
					}
				}
				commit(rt, s, writes...)
			},
			"reopen": func(rt *rapid.T) {
				if err := s.Close(); err != nil {
					rt.Fatal(err)
				}
				s = open(t, dir)
				clear(written)
			},
			"": func(rt *rapid.T) {
				for id := range roster.PartitionID(partitions) {
					if got := load(rt, s, id); !reflect.DeepEqual(got, tables[id]) {
						rt.Fatalf("partition %d has\n%v, want\n%v", id, got, tables[id])
					}
				}
			},
		})
		_ = s.Close()
	})
}

func byName(a, b definitions.Record) int {
	return strings.Compare(a.Ref.Definition.Name(), b.Ref.Definition.Name())
}

// whole returns a write of a whole table.
func whole(id roster.PartitionID, p definitions.Position, records ...definitions.Record) definitions.Write {
	return definitions.Write{Partition: id, Position: p, DefinitionChange: partition.DefinitionChange{
		Whole: &partition.Definitions{Records: records},
	}}
}

// TestCommitIsBounded: a transaction takes no further partition once it is large.
func TestCommitIsBounded(t *testing.T) {
	s, _ := newStore(t)
	var writes []definitions.Write
	for id := range roster.PartitionID(3) {
		var records []definitions.Record
		for i := range 20_000 {
			records = append(records, record(t, fmt.Sprintf("name-%06d", i), 5))
		}
		writes = append(writes, whole(id, at(1, 1), records...))
	}
	if n, err := s.Commit(aGrid, writes); n != 2 || err != nil {
		t.Errorf("%d partitions in the first transaction: %v, want 2", n, err)
	}
	// Equal records cost nothing: all of them fit into one write.
	commit(t, s, writes[2:]...)
	for i := range writes {
		writes[i].Position = at(2, 0)
	}
	if n, err := s.Commit(aGrid, writes); n != 3 || err != nil {
		t.Errorf("%d partitions in the transaction of equal tables: %v, want 3", n, err)
	}
	if got := load(t, s, 2); len(got.Records) != 20_000 || got.Position != at(2, 0) {
		t.Errorf("%d records at %v", len(got.Records), got.Position)
	}
}

// TestChangesHaveToFollow: changes follow a write of this process, since the table
// they were made to is not known otherwise; else the store stays as it was, and usable.
func TestChangesHaveToFollow(t *testing.T) {
	s, dir := newStore(t)
	change := definitions.Write{Partition: 1, Position: at(1, 2)}
	change.Changed = []definitions.Record{record(t, "b", 1)}
	refused := func() {
		t.Helper()
		if n, err := s.Commit(aGrid, []definitions.Write{whole(2, at(1, 5)), change}); n != 0 ||
			!errors.Is(err, definitions.ErrGap) {
			t.Errorf("%d made, error %v, want ErrGap", n, err)
		}
	}
	refused()
	commit(t, s, whole(1, at(1, 0), record(t, "a", 1)), change)
	_ = s.Close()
	s = open(t, dir)
	refused()
	if got := load(t, s, 1); len(got.Records) != 2 || got.Position != at(1, 2) {
		t.Errorf("stored is %v", got)
	}
	if _, found, _ := s.Load(2); found {
		t.Error("a part of a refused write is stored")
	}
}

// TestStoreIsOfOneGrid: tables of another grid are neither taken nor mixed in.
func TestStoreIsOfOneGrid(t *testing.T) {
	s, dir := newStore(t)
	if s.Grid() != (roster.GridID{}) {
		t.Errorf("an empty store is of grid %s", s.Grid())
	}
	commit(t, s, whole(1, at(1, 0)))
	if _, err := s.Commit(roster.GridID{8}, []definitions.Write{whole(1, at(9, 0))}); !errors.Is(err,
		definitions.ErrOtherGrid) {
		t.Errorf("a write of another grid: %v", err)
	}
	_ = s.Close()
	if s = open(t, dir); s.Grid() != aGrid || load(t, s, 1).Position != at(1, 0) {
		t.Errorf("opened again it is of grid %s at %v", s.Grid(), load(t, s, 1).Position)
	}
}

// TestFailedWriteIsTheLast: after a failed write, even one that reached the file, the store
// accepts none; earlier content can be read.
func TestFailedWriteIsTheLast(t *testing.T) {
	s, _ := newStore(t)
	commit(t, s, whole(1, at(1, 0)))
	errDisk := errors.New("no space left")
	tried := 0
	s.OnWrite(func(write func() error) error { tried++; return errors.Join(write(), errDisk) })
	later := []definitions.Write{whole(1, at(2, 0))}
	if _, err := s.Commit(aGrid, later); !errors.Is(err, errDisk) {
		t.Errorf("the first failure: %v", err)
	}
	s.OnWrite(func(write func() error) error { tried++; return write() })
	if _, err := s.Commit(aGrid, later); !errors.Is(err, errDisk) || tried != 1 {
		t.Errorf("after the failure: %v, %d writes tried", err, tried)
	}
	if _, found, err := s.Load(1); err != nil || !found {
		t.Errorf("reading after the failure: found %v, %v", found, err)
	}
}

// TestPagesAreTheTable: the pages of a table, of any weight, are the table, and a table
// that was changed between two pages begins again.
func TestPagesAreTheTable(t *testing.T) {
	s, _ := newStore(t)
	var records []definitions.Record
	for i := range 100 {
		records = append(records, record(t, fmt.Sprintf("name-%03d", i), int64(i+1)))
	}
	commit(t, s, whole(3, at(1, 1), records...))
	for _, weight := range []int{1, 1000, 5000, 1 << 20} {
		var got []definitions.Record
		var page definitions.Page
		pages := 0
		for more := true; more; more = page.More {
			after := ""
			if len(got) > 0 {
				after = got[len(got)-1].Ref.Definition.Name()
			}
			before := page.Revision
			var err error
			if page, _, err = s.Page(3, after, before, weight); err != nil || before != 0 && page.Revision != before {
				t.Fatalf("revision %d after %d: %v", page.Revision, before, err)
			}
			got = append(got, page.Records...)
			pages++
		}
		if !slices.Equal(got, records) || weight == 1 && pages != 100 || weight == 1<<20 && pages != 1 {
			t.Errorf("with pages of %d bytes, %d pages have %d records", weight, pages, len(got))
		}
	}
	first, _, _ := s.Page(3, "", 0, 1000)
	change := definitions.Write{Partition: 3, Position: at(1, 2)}
	change.Removed = []string{"name-050"}
	commit(t, s, change)
	next, _, err := s.Page(3, first.Records[len(first.Records)-1].Ref.Definition.Name(), first.Revision, 1000)
	if err != nil || next.Revision == first.Revision || next.Records[0] != records[0] {
		t.Errorf("after a change the next page begins with %v: %v", next.Records[0], err)
	}
	if _, found, err := s.Page(4, "", 0, 1000); found || err != nil {
		t.Errorf("a partition that was never stored: found %v, %v", found, err)
	}
}

// TestAdoptedStore: a store is another grid's from the moment it was adopted, with
// everything that it has; an empty one belongs to no grid still.
func TestAdoptedStore(t *testing.T) {
	s, dir := newStore(t)
	if err := s.Adopt(roster.GridID{9}); err != nil || s.Grid() != (roster.GridID{}) {
		t.Errorf("an empty store is of grid %s: %v", s.Grid(), err)
	}
	commit(t, s, whole(1, at(3, 2), record(t, "a", 1)))
	for range 2 {
		if err := s.Adopt(roster.GridID{9}); err != nil {
			t.Fatal(err)
		}
	}
	_ = s.Close()
	s = open(t, dir)
	p, found, err := s.Position(1)
	if s.Grid() != (roster.GridID{9}) || len(load(t, s, 1).Records) != 1 || p != at(3, 2) || !found || err != nil {
		t.Errorf("opened again it is of grid %s, partition 1 at %v: %v", s.Grid(), p, err)
	}
	if _, found, err := s.Position(2); found || err != nil {
		t.Errorf("a table that was never stored is found: %v, %v", found, err)
	}
}
