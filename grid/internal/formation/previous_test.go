package formation

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/recovery"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestSurvivorKeepsTheLargerWindow: a holder of the grid before the last one may have grants of
// that one's window, and it is the last to be bounded by what the survivor reports (S2).
func TestSurvivorKeepsTheLargerWindow(t *testing.T) {
	s := state.New(handles.NewExactClock(), handles.NewExactClock())
	f := &bindings{deps: &deps{state: s, clock: s.Clock}, id: &Identity{}}
	f.previous.Bounds = recovery.Bounds{Ceiling: 5, Window: 60_000, Time: 7}
	form := roster.Form{Grid: roster.GridID{2}, Ceiling: 9, Settings: roster.Settings{Name: "g", Partitions: 1,
		Window: 15_000}}
	r, err := (&roster.Roster{}).Apply(roster.Command{Form: &form})
	if err != nil {
		t.Fatal(err)
	}
	f.state.Apply(r)
	f.notePrevious(form.Grid)
	if b := f.previous.Bounds; b.Window != 60_000 || b.Ceiling != 9 || b.Time < 7 {
		t.Errorf("the bounds after two grids are %+v", b)
	}
}

// filledDir returns a directory with a log of some entries and an identity.
func filledDir(t *testing.T, id *Identity, types ...raft.LogType) string {
	t.Helper()
	dir := t.TempDir()
	l, err := raftlog.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, kind := range types {
		if err := l.StoreLog(&raft.Log{Index: uint64(i + 1), Term: 1, Type: kind}); err != nil {
			t.Fatal(err)
		}
	}
	if id != nil {
		id.dir, id.Log = dir, l.ID
		err = id.Save()
	}
	if err := errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestLogWithoutIdentityIsRefused: its member is unknown, and may have voted.
func TestLogWithoutIdentityIsRefused(t *testing.T) {
	dir := filledDir(t, nil, raft.LogConfiguration)
	_, _, _, err := OpenDataDir(dir, os.Stderr)
	if !errors.Is(err, sequencer.ErrInvalidConfig) || !strings.Contains(err.Error(), filepath.Join(dir, identityFile)) {
		t.Errorf("opened: %v", err)
	}
}

// TestAttemptThatSucceededIsKept: a member that died while it formed a grid is in it if the log
// has a command, and in none otherwise (S3).
func TestAttemptThatSucceededIsKept(t *testing.T) {
	for what, types := range map[string][]raft.LogType{
		"no command": {raft.LogConfiguration}, "a command": {raft.LogConfiguration, raft.LogCommand},
	} {
		dir := filledDir(t, &Identity{Member: "0123456789abcdef", Grid: roster.GridID{3}, Forming: true}, types...)
		s, defs, id, err := OpenDataDir(dir, os.Stderr)
		if what == "a command" && err != nil && strings.Contains(err.Error(), "definitions.db") {
			continue // it is in the grid, so its disk has to have definitions
		}
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if id.Forming || id.Grid.IsZero() != (what == "no command") {
			t.Errorf("%s: %+v", what, id)
		}
		if err := errors.Join(defs.Close(), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestVolatileVoterDoesNotCountAsGiven: the directory of a member does not have the votes of the
// process that ran without it.
func TestVolatileVoterDoesNotCountAsGiven(t *testing.T) {
	const id = roster.MemberID("0123456789abcdef")
	inc := NewIncarnation(id)
	for _, durable := range []bool{true, false} {
		d := &recoverDir{id: &Identity{Member: id},
			roster: &roster.Roster{Settings: roster.Settings{Window: clustertime.Span(15_000)}}}
		d.servers = []raft.Server{{ID: raftlog.ServerID(inc, durable), Suffrage: raft.Voter}}
		_, err := missing(d, map[roster.MemberID]string{id: "dir"}, nil)
		if errors.Is(err, wire.ErrNotNeeded) != durable {
			t.Errorf("durable %v: %v", durable, err)
		}
	}
}
