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
		leader       ServerID // empty if no probe has succeeded
		began, ended time.Duration
	}
	unanswered struct {
		leader      ServerID      // empty if the last probe succeeded
		since, last time.Duration // start of the first consecutive failed probe, end of the last one
	}
	silence Silence
}

// RecordProbe records the result of a probe.
func (m *Monitor) RecordProbe(leader ServerID, p ProbeResult) {
	u := &m.unanswered
	switch {
	case p.outcome() == nil:
		m.probed.leader, m.probed.began, m.probed.ended = leader, p.Began, p.Ended
		u.leader = ""
	case leader == m.probed.leader && p.Began < m.probed.began: // a later one has succeeded
	case leader != u.leader || p.Began-u.last > standstill:
		u.leader, u.since, u.last = leader, p.Began, p.Ended
	default:
		u.last = max(u.last, p.Ended)
	}
}

// AnsweredSince reports whether an answer of leader to a probe has arrived since a time.
func (m *Monitor) AnsweredSince(leader ServerID, since time.Duration) bool {
	return leader == m.probed.leader && m.probed.ended >= since
}

// UnansweredFor returns the time for which leader has answered no probe, 0 if it answered the last one.
// Raft and gossip may reach its process meanwhile.
func (m *Monitor) UnansweredFor(leader ServerID, now time.Duration) time.Duration {
	if u := m.unanswered; leader != "" && leader == u.leader && now-u.last <= standstill {
		return u.last - u.since
	}
	return 0
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
