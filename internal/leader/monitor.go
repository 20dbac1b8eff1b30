package leader

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// Monitor tracks the liveness of the leader that a member follows, in addition to Raft's
// heartbeats: the last successful probe, and the silence that made the member stand for
// election. The zero value has no observations.
type Monitor struct {
	probed struct {
		leader ServerID // empty if no probe has succeeded
		ended  time.Duration
	}
	silence Silence
}

// RecordProbe records the result of a probe. Failed probes are ignored.
func (m *Monitor) RecordProbe(leader ServerID, p ProbeResult) {
	if p.outcome() == nil {
		m.probed.leader, m.probed.ended = leader, p.Ended
	}
}

// RecordSilence records the leader's silence at the moment this member stands for election.
func (m *Monitor) RecordSilence(s Silence) { m.silence = s }

// SilentFor returns the time since the last sign of life from leader. sinceHeartbeat is the
// time since Raft's last heartbeat; a successful probe counts as one.
func (m *Monitor) SilentFor(leader ServerID, now, sinceHeartbeat time.Duration) time.Duration {
	if leader != "" && leader == m.probed.leader {
		return min(sinceHeartbeat, now-m.probed.ended)
	}
	return sinceHeartbeat
}

// TakeSilence returns the previous leader's silence, which a newly elected leader starts
// from, and resets it. Silence recorded for a different leader belongs to a lost election
// and is dropped. Without a record, missed heartbeats count once they exceed electionTimeout.
func (m *Monitor) TakeSilence(previous roster.Incarnation, sinceHeartbeat, electionTimeout time.Duration) Silence {
	s := m.silence
	m.silence = Silence{}
	if s.Member != previous {
		s = Silence{}
	}
	if s.Member == "" && sinceHeartbeat >= electionTimeout {
		s.Member = previous
	}
	return s
}
