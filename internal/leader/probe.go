package leader

import (
	"errors"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// probeTimeout is how long a member may take to answer a probe. Clocks have longer.
const probeTimeout = 500 * time.Millisecond

// Probe asks one incarnation at one address for its [Answer].
type Probe struct {
	To      roster.Incarnation
	API     string
	Timeout time.Duration

	purpose purpose
	round   uint64        // of that purpose: an answer to an earlier round does not count
	began   time.Duration // by the leader's monotonic clock
}

// purpose is the part of the leader that a probe's answer goes to.
type purpose uint8

const (
	forDetection purpose = iota
	forClocks
	forVoters
	forSuccession
	forInquiry
	forForget
	forRemoval
)

// Answer is a member's description of itself.
type Answer struct {
	Record     roster.Member // as it is to be in the roster
	Grid       roster.GridID
	Version    roster.Version   // of the newest roster that it has applied
	Wall       clustertime.Tick // its wall clock
	Time       clustertime.Tick // the cluster time as it knows it, 0 for not at all
	Leaving    bool
	DiskFailed bool         // or it cannot read the roster
	Claim      roster.Claim // of its roster if that has this incarnation, else ""
	Release    roster.Release
	Learns     bool // it hears of rosters by pushes, and needs no Raft server for that
	Waits      bool // it begins no election within a second without a heartbeat
}

// ErrAbsent is the outcome of a probe that proves that the incarnation is not at the
// address: the connection was refused, or another process answers there.
var ErrAbsent = errors.New("leader: the incarnation is not at its address")

// errForeign is the outcome of a probe that a member of another claim answered.
var errForeign = errors.New("leader: the member is of this grid under another claim")

// probe asks a member, for a purpose.
func (l *Leader) probe(v View, to roster.Incarnation, api string, why purpose, round uint64) {
	p := Probe{To: to, API: api, Timeout: probeTimeout, purpose: why, round: round, began: v.Mono}
	switch c := l.detector.contacts[to]; {
	case why == forClocks:
		p.Timeout = clocksTimeout
	case why == forDetection && c != nil && (c.heard || to == l.cfg.Silence.Member):
		p.Timeout = detectTimeout
	}
	l.member.Probe(p)
}

// Probed records the outcome of a probe. An error that matches [ErrAbsent] proves that
// the incarnation is not there; any other is silence.
func (l *Leader) Probed(v View, p Probe, a Answer, err error) {
	switch p.purpose {
	case forDetection:
		if err == nil && a.foreign(v.Roster) {
			err = errForeign
		}
		l.detectorProbed(v, p, a, err)
	case forClocks:
		l.clockRead(v, p, a, err)
	case forVoters:
		l.surveyed(v, p, err)
	case forSuccession:
		l.successorAnswered(p, err)
	case forInquiry:
		l.inquired(v, p, a, err)
	case forForget:
		l.forgetProbed(v, p, err)
	case forRemoval:
		l.removalProbed(v, p, err)
	}
}
