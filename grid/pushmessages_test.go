package grid

import (
	"errors"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/follow"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestAgeOfAPush: it is at most the time since the answer that the push returns, and for
// how long the sender has known the raise; else it is unknown.
func TestAgeOfAPush(t *testing.T) {
	const now = 10 * time.Second
	for _, test := range []struct {
		echo, age int64
		want      time.Duration
	}{
		{9_000, 200, 1200 * time.Millisecond}, {10_000, 0, 0}, {0, 0, -1}, {-5, 0, -1}, {9_000, -1, -1}, {10_001, 0, -1},
		{9_000, 1 << 60, -1},
	} {
		if got := ageAt(wire.PushRequest{Echo: test.echo, Age: test.age}, now); got != test.want {
			t.Errorf("returned %d, known for %d ms: age %v, want %v", test.echo, test.age, got, test.want)
		}
	}
}

// TestAgeOfAnAnswer: the leader's answer to a learner is as old as the call took, and the raise
// as much older as the leader says.
func TestAgeOfAnAnswer(t *testing.T) {
	for _, test := range []struct {
		took time.Duration
		age  int64
		want time.Duration
	}{
		{time.Second, 200, 1200 * time.Millisecond}, {0, 0, 0}, {0, -1, -1}, {time.Second, 1 << 60, -1},
	} {
		if got := ageOfAnswer(wire.PushRequest{Age: test.age}, test.took); got != test.want {
			t.Errorf("an answer after %v, known for %d ms: age %v, want %v", test.took, test.age, got, test.want)
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
