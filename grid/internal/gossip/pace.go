package gossip

import (
	"cmp"
	"errors"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/snowgrid/snowgrid/grid/internal/refusal"
)

// Pace sets the probe interval, and the tolerated silence. Zero fields have their defaults.
//
// A member probes one other in each Interval: directly, and through three more if no answer came
// within Timeout. A member that fails both is suspected, and the suspicion is spread. It is removed
// unless it refutes the suspicion within Cycles times Interval, times log10 of the number of members
// beyond ten. With three Cycles or more that holds after independent confirmation; without it the
// limit is three times as long.
type Pace struct {
	Interval time.Duration // 100 ms to 60 s; 0 = 1 s
	Timeout  time.Duration // 10 ms or more, less than Interval; 0 = half of Interval
	Cycles   int           // 1 to 100; 0 = as many as last a second
}

// Bounds and defaults for Pace. By default a crash is agreed within about 3 s. Nothing urgent waits
// for that: a terminated process refuses connections, and the leader probes a silent one as soon as a
// request waits for it.
const (
	MinInterval     = 100 * time.Millisecond
	MaxInterval     = time.Minute
	MinTimeout      = 10 * time.Millisecond
	MaxCycles       = 100
	defaultInterval = time.Second
	// defaultSuspicion is the default minimum duration of a suspicion.
	defaultSuspicion = time.Second
	// suspicionSpread is the ratio of the longest suspicion to the shortest.
	suspicionSpread = 3
	// probeMost bounds a member's probe interval while its probes fail: memberlist's awareness score slows
	// probing up to eightfold by default. After most members have crashed, the survivors would list them for
	// too long.
	probeMost = 2400 * time.Millisecond
	// spreadMax bounds the interval of messages that spread news, besides those sent immediately (spread.go).
	spreadMax = 2 * time.Second
	// goodbyeTimeout bounds the wait of a member that leaves until its goodbye was sent: a few of
	// the rounds that follow news.
	goodbyeTimeout = 2 * time.Second
	// pushPullEvery is the interval of full state exchanges between two members. Members missing from gossip
	// are dialed sooner (rejoin.go).
	pushPullEvery = 30 * time.Second
)

// Check refuses a pace out of its bounds, with every mistake. The errors match
// sequencer.ErrInvalidConfig.
func (p Pace) Check() error {
	var faults []error
	if p.Interval != 0 && (p.Interval < MinInterval || p.Interval > MaxInterval) {
		faults = append(faults, refusal.Invalid("Gossip.Interval is %v; give %v to %v, or 0 for %v", p.Interval, MinInterval,
			MaxInterval, defaultInterval))
	}
	if interval := p.withDefaults().Interval; len(faults) == 0 && p.Timeout != 0 &&
		(p.Timeout < MinTimeout || p.Timeout >= interval) {
		faults = append(faults,
			refusal.Invalid("Gossip.Timeout is %v; give %v or more and less than Gossip.Interval (%v), or 0 for half of it",
				p.Timeout, MinTimeout, interval))
	}
	if p.Cycles < 0 || p.Cycles > MaxCycles {
		faults = append(faults, refusal.Invalid("Gossip.Cycles is %d; give 1 to %d, or 0 for as many as last %v", p.Cycles,
			MaxCycles, defaultSuspicion))
	}
	return errors.Join(faults...)
}

func (p Pace) withDefaults() Pace {
	p.Interval = cmp.Or(p.Interval, defaultInterval)
	p.Timeout = cmp.Or(p.Timeout, p.Interval/2)
	p.Cycles = cmp.Or(p.Cycles, int((defaultSuspicion+p.Interval-1)/p.Interval))
	return p
}

func (p Pace) apply(conf *memberlist.Config) {
	p = p.withDefaults()
	conf.ProbeInterval, conf.ProbeTimeout = p.Interval, p.Timeout
	conf.SuspicionMult, conf.SuspicionMaxTimeoutMult = p.Cycles, suspicionSpread
	conf.AwarenessMaxMultiplier = max(1, min(conf.AwarenessMaxMultiplier, int(probeMost/p.Interval)))
	conf.GossipInterval, conf.PushPullInterval = min(2*p.Interval, spreadMax), max(pushPullEvery, p.Interval)
}
