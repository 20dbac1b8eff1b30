package leader

import (
	"errors"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// probeTimeout bounds a probe. Clocks have longer.
const probeTimeout = 500 * time.Millisecond

// Probe requests the [Answer] of one incarnation at one address.
type Probe struct {
	To      roster.Incarnation
	API     string
	Timeout time.Duration
	// AnyStart has another start of the same member answer too, if it is at the address: the answer's
	// record names it.
	AnyStart bool

	purpose purpose
	round   uint64        // answers to earlier rounds are ignored
	began   time.Duration // by the leader's monotonic clock
}

// purpose is the sub-machine that receives a probe's answer.
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
	Record     roster.Member // its roster record
	Grid       roster.GridID
	Version    roster.Version   // the newest roster version that it has applied
	Wall       clustertime.Tick // its wall clock
	Time       clustertime.Tick // its cluster time, 0 if unknown
	Leaving    bool
	DiskFailed bool         // its disk failed, or it cannot read the roster
	Claim      roster.Claim // its roster's claim, empty if that does not list this incarnation
	Release    roster.Release
}

// foreign reports whether the member is registered under another claim than the leader's: one
// grid was started from a copy of the other's data (A9).
func (a Answer) foreign(r *roster.Roster) bool { return a.Claim != "" && a.Claim != r.Claim }

// ErrAbsent is a probe outcome that proves that the incarnation is not at the address: the connection was refused, or
// another process answers there.
var ErrAbsent = errors.New("leader: the incarnation is not at its address")

// errForeign is the outcome if a member with another claim answered.
var errForeign = errors.New("leader: the member belongs to this grid under another claim")

func newProbe(now time.Duration, to roster.Incarnation, api string, why purpose, round uint64) Probe {
	return Probe{To: to, API: api, Timeout: probeTimeout, purpose: why, round: round, began: now}
}
