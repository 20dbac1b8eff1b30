package grid

import (
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

func TestDepartures(t *testing.T) {
	d := departures{}
	d.note(map[raft.ServerID]bool{"a": true}, time.Minute)
	d.note(map[raft.ServerID]bool{"a": true, "b": true}, time.Minute+5*time.Second)
	for _, c := range []struct {
		id       raft.ServerID
		majority bool
		after    time.Duration
		want     bool
	}{
		{"a", true, 0, true}, {"a", true, 29 * time.Second, true}, {"a", true, 31 * time.Second, false},
		{"a", false, 9 * time.Second, true}, {"a", false, 11 * time.Second, false},
		{"b", false, 14 * time.Second, true}, {"b", false, 16 * time.Second, false},
		{"c", true, 0, false}, {"c", false, 0, false},
	} {
		if got := d.keepsVote(c.id, c.majority, time.Minute+c.after); got != c.want {
			t.Errorf("%s, majority %v, after %v: %v", c.id, c.majority, c.after, got)
		}
	}
	d.note(map[raft.ServerID]bool{"b": true}, 2*time.Minute)
	if len(d) != 1 {
		t.Errorf("one that stays is still noted: %v", d)
	}
}
