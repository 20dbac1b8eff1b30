package raftlog

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

// TestLearned: a learner believes the pushes that have the key which it stated to the leader,
// and follows a leader of a later term only.
func TestLearned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l learned
		if l.takes(Push{Leader: "a", Term: 3}) || l.takes(Push{}) {
			t.Error("a push without a key is taken before a leader is followed")
		}
		if !l.worth(Push{Leader: "a", Term: 3}) || l.worth(Push{Leader: "a"}) {
			t.Error("the first leader that says its term is the one to ask")
		}
		if l.begin(Push{Leader: "a", Key: "k"}) {
			t.Error("followed is one that may lead no longer")
		}
		if !l.begin(Push{Leader: "a", Term: 3, Key: "k", Voters: []raft.ServerID{"a", "b"}}) {
			t.Fatal("not followed")
		}
		for what, c := range map[string]struct {
			push         Push
			takes, worth bool
		}{
			"with the key":               {Push{Leader: "a", Term: 3, Key: "k"}, true, true},
			"without the key":            {Push{Leader: "a", Term: 3}, false, true},
			"with another key":           {Push{Leader: "a", Term: 3, Key: "j"}, false, true},
			"of another leader":          {Push{Leader: "b", Term: 3, Key: "k"}, false, false},
			"of a leader before":         {Push{Leader: "b", Term: 2, Key: "k"}, false, false},
			"of the next leader":         {Push{Leader: "b", Term: 4, Key: "k"}, false, true},
			"of one that does not lead":  {Push{Leader: "b", Key: "k"}, false, false},
			"of the same leader, before": {Push{Leader: "a", Key: "k"}, true, false},
		} {
			if takes, worth := l.takes(c.push), l.worth(c.push); takes != c.takes || worth != c.worth {
				t.Errorf("a push %s is taken: %v, worth a call: %v", what, takes, worth)
			}
		}
		for what, c := range map[string]struct {
			push Push
			want bool
		}{
			"the same leader in its term": {Push{Leader: "a", Term: 3, Key: "k2"}, true},
			"another in that term":        {Push{Leader: "b", Term: 3, Key: "k3"}, false},
			"one of a term before":        {Push{Leader: "b", Term: 2, Key: "k3"}, false},
		} {
			if got := l.begin(c.push); got != c.want {
				t.Errorf("%s is followed: %v", what, got)
			}
		}
	})
}

// TestLearnedTouch: a leader that is silent is none, and its voters are those of the last push.
func TestLearnedTouch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l learned
		if leader, heard := l.touch(); leader != "" || !heard.IsZero() {
			t.Errorf("%q heard at %v", leader, heard)
		}
		l.begin(Push{Leader: "a", Term: 3, Key: "k", Voters: []raft.ServerID{"a", "b"}})
		began := time.Now()
		time.Sleep(learnedTouch)
		if leader, heard := l.touch(); leader != "a" || !heard.Equal(began) {
			t.Errorf("%q heard at %v", leader, heard)
		}
		if voters := l.votersSince(began.Add(-1)); len(voters) != 2 || voters[1].ID != "b" || voters[1].Suffrage != raft.Voter {
			t.Errorf("voters %+v", voters)
		}
		if voters := l.votersSince(began); len(voters) != 0 {
			t.Errorf("voters %+v, although Raft has heard later", voters)
		}
		l.takes(Push{Leader: "a", Term: 3, Key: "k", Voters: []raft.ServerID{"a"}})
		if voters := l.votersSince(began); len(voters) != 1 {
			t.Errorf("voters %+v", voters)
		}
		time.Sleep(learnedTouch + 1)
		if leader, _ := l.touch(); leader != "" {
			t.Errorf("%q is the leader after %v of silence", leader, learnedTouch)
		}
	})
}
