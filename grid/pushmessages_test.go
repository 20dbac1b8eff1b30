package grid

import (
	"errors"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/follow"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestAgeOfAPush: a push is at most as old as the answer that it returns. The leader's time in it counts if that is
// certainly recent (F5).
func TestAgeOfAPush(t *testing.T) {
	const now, sent = 10 * time.Second, clustertime.Tick(1_000_000)
	for _, test := range []struct {
		echo int64
		want time.Duration
		time clustertime.Tick
	}{
		{9_000, time.Second, sent}, {10_000, 0, sent}, {5_001, 4999 * time.Millisecond, sent},
		{5_000, 5 * time.Second, 0}, {0, -1, 0}, {-5, -1, 0}, {10_001, -1, 0},
	} {
		in := wire.PushRequest{Echo: test.echo, Time: sent}
		if got := ageAt(in, now); got != test.want {
			t.Errorf("returned %d: age %v, want %v", test.echo, got, test.want)
		}
		if p, err := pushOf(in, ageAt(in, now)); err != nil || p.Time != test.time {
			t.Errorf("returned %d: time %d, %v, want %d", test.echo, p.Time, err, test.time)
		}
	}
}

// TestPushIsReadStrictly: a push is read as it was made, and one that the log could not have
// is refused.
func TestPushIsReadStrictly(t *testing.T) {
	raise := follow.Entry{After: 3, At: 5, Command: roster.Command{From: 1, Raise: &roster.Raise{Time: 7}}}
	push, err := newPush([]follow.Entry{raise}, follow.Image{})
	if err != nil {
		t.Fatal(err)
	}
	entries, image, err := contentsOf(push)
	if err != nil || image.Roster != nil || len(entries) != 1 || entries[0].After != 3 || entries[0].At != 5 ||
		*entries[0].Command.Raise != *raise.Command.Raise {
		t.Errorf("read as %+v, %+v, %v", entries, image, err)
	}
	whole, err := newPush(nil, follow.Image{At: 9, Roster: &roster.Roster{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, image, err := contentsOf(whole); err != nil || image.At != 9 || image.Roster == nil {
		t.Errorf("read as %+v, %v", image, err)
	}
	many := wire.PushRequest{Commands: make([]wire.PushedCommand, follow.Kept+1)}
	for what, bad := range map[string]wire.PushRequest{
		"too many commands": many, "no command": {Commands: []wire.PushedCommand{{At: 4, Command: []byte{1, 0x80}}}},
		"no bytes":      {Commands: []wire.PushedCommand{{At: 4}}},
		"half a roster": {At: 9, Roster: whole.Roster[:len(whole.Roster)-1]},
	} {
		if _, _, err := contentsOf(bad); !errors.Is(err, wire.ErrBadRequest) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestPushWithVotersThatAreReplaced: a voter that leaves or is dead keeps its vote until another member has one, so a
// learner takes a push with more voters than the settings allow. It refuses a number that no leader sends.
func TestPushWithVotersThatAreReplaced(t *testing.T) {
	in := wire.PushRequest{Leader: "a", Key: "key", Voters: make([]string, 2*roster.MaxVoters)}
	if p, err := pushOf(in, 0); err != nil || len(p.Voters) != len(in.Voters) {
		t.Errorf("%d of %d voters, %v", len(p.Voters), len(in.Voters), err)
	}
	in.Voters = make([]string, votersMost+1)
	if _, err := pushOf(in, 0); !errors.Is(err, wire.ErrBadRequest) {
		t.Errorf("%d voters: %v", len(in.Voters), err)
	}
}
