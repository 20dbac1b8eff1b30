package leader

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// Watch is what a member knows of the leader that it follows, beside Raft's heartbeats: its last look that
// was answered, and the silence for which it stood for election. Its zero value has seen nothing.
type Watch struct {
	answered struct {
		by    ServerID // "" for none
		ended time.Duration
	}
	silence Silence
}

// Looked takes in a look at a leader.
func (w *Watch) Looked(at ServerID, k Look) {
	if k.outcome() == nil {
		w.answered.by, w.answered.ended = at, k.Ended
	}
}

// Silent takes in the silence of a leader in whose place this member stands for election.
func (w *Watch) Silent(s Silence) { w.silence = s }

// Unheard returns for how long this member has heard nothing from a leader. byRaft is for how long it
// has had no heartbeat. The answer to a look counts like one.
func (w *Watch) Unheard(from ServerID, now, byRaft time.Duration) time.Duration {
	if from != "" && from == w.answered.by {
		return min(byRaft, now-w.answered.ended)
	}
	return byRaft
}

// Before returns the silence that a lead of this member begins with. before is the leader before it, which had
// sent no heartbeat for byRaft. Where this member noted no silence, missed heartbeats count from
// electionAfter on. Noted silence is returned once.
func (w *Watch) Before(before roster.Incarnation, byRaft, electionAfter time.Duration) Silence {
	s := w.silence
	w.silence = Silence{}
	if s.Member != before { // of an election that this member has not won
		s = Silence{}
	}
	if s.Member == "" && byRaft >= electionAfter {
		s.Member = before
	}
	return s
}
