package follow_test

import (
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster/follow"
)

// TestLead: a learner believes the pushes that have the key which it stated to the leader,
// and follows a leader of a later term only.
func TestLead(t *testing.T) {
	var l follow.Lead
	now := time.Unix(1_800_000_000, 0)
	if l.Takes(follow.Told{Leader: "a", Term: 3}, now) || l.Takes(follow.Told{}, now) {
		t.Error("a push without a key is taken before a leader is followed")
	}
	if !l.Worth(follow.Told{Leader: "a", Term: 3}) || l.Worth(follow.Told{Leader: "a"}) {
		t.Error("the first leader that says its term is the one to ask")
	}
	if l.Begin(follow.Told{Leader: "a", Key: "k"}, now) {
		t.Error("followed is one that may lead no longer")
	}
	if !l.Begin(follow.Told{Leader: "a", Term: 3, Key: "k", Voters: []string{"a", "b"}}, now) {
		t.Fatal("not followed")
	}
	for what, c := range map[string]struct {
		push         follow.Told
		takes, worth bool
	}{
		"with the key":               {follow.Told{Leader: "a", Term: 3, Key: "k"}, true, true},
		"without the key":            {follow.Told{Leader: "a", Term: 3}, false, true},
		"with another key":           {follow.Told{Leader: "a", Term: 3, Key: "j"}, false, true},
		"of another leader":          {follow.Told{Leader: "b", Term: 3, Key: "k"}, false, false},
		"of a leader before":         {follow.Told{Leader: "b", Term: 2, Key: "k"}, false, false},
		"of the next leader":         {follow.Told{Leader: "b", Term: 4, Key: "k"}, false, true},
		"of one that does not lead":  {follow.Told{Leader: "b", Key: "k"}, false, false},
		"of the same leader, before": {follow.Told{Leader: "a", Key: "k"}, true, false},
	} {
		if takes, worth := l.Takes(c.push, now), l.Worth(c.push); takes != c.takes || worth != c.worth {
			t.Errorf("a push %s is taken: %v, worth a call: %v", what, takes, worth)
		}
	}
	for what, c := range map[string]struct {
		push follow.Told
		want bool
	}{
		"the same leader in its term": {follow.Told{Leader: "a", Term: 3, Key: "k2"}, true},
		"another in that term":        {follow.Told{Leader: "b", Term: 3, Key: "k3"}, false},
		"one of a term before":        {follow.Told{Leader: "b", Term: 2, Key: "k3"}, false},
	} {
		if got := l.Begin(c.push, now); got != c.want {
			t.Errorf("%s is followed: %v", what, got)
		}
	}
}

// TestLeadTouch: a leader that is silent is none, and its voters are those of the last push.
func TestLeadTouch(t *testing.T) {
	var l follow.Lead
	now := time.Unix(1_800_000_000, 0)
	if leader, heard := l.Touch(now); leader != "" || !heard.IsZero() {
		t.Errorf("%q heard at %v", leader, heard)
	}
	l.Begin(follow.Told{Leader: "a", Term: 3, Key: "k", Voters: []string{"a", "b"}}, now)
	began := now
	now = now.Add(follow.TouchFor)
	if leader, heard := l.Touch(now); leader != "a" || !heard.Equal(began) {
		t.Errorf("%q heard at %v", leader, heard)
	}
	if voters := l.VotersSince(began.Add(-1)); len(voters) != 2 || voters[1] != "b" {
		t.Errorf("voters %+v", voters)
	}
	if voters := l.VotersSince(began); len(voters) != 0 {
		t.Errorf("voters %+v, although Raft has heard later", voters)
	}
	l.Takes(follow.Told{Leader: "a", Term: 3, Key: "k", Voters: []string{"a"}}, now)
	if voters := l.VotersSince(began); len(voters) != 1 {
		t.Errorf("voters %+v", voters)
	}
	now = now.Add(follow.TouchFor + 1)
	if leader, _ := l.Touch(now); leader != "" {
		t.Errorf("%q is the leader after %v of silence", leader, follow.TouchFor)
	}
}
