package gossip

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/snowgrid/snowgrid/sequencer"
)

func TestPaceBounds(t *testing.T) {
	for _, test := range []struct {
		pace Pace
		want string // "" is accepted
	}{
		{Pace{}, ""},
		{Pace{Interval: MinInterval}, ""},
		{Pace{Interval: MaxInterval, Timeout: MaxInterval - 1, Cycles: MaxCycles}, ""},
		{Pace{Interval: 3 * time.Second, Timeout: time.Second, Cycles: 3}, ""},
		{Pace{Interval: MinInterval - 1}, "Gossip.Interval is 99.999999ms; give 100ms to 1m0s"},
		{Pace{Interval: MaxInterval + 1}, "Gossip.Interval is 1m0.000000001s"},
		{Pace{Interval: -time.Second}, "Gossip.Interval is -1s"},
		{Pace{Timeout: time.Second}, "Gossip.Timeout is 1s; give 10ms or more and less than Gossip.Interval (1s)"},
		{Pace{Timeout: MinTimeout - 1}, "Gossip.Timeout is 9.999999ms"},
		{Pace{Timeout: -1}, "Gossip.Timeout is -1ns"},
		{Pace{Cycles: -1}, "Gossip.Cycles is -1; give 1 to 100, or 0 for as many as last 1s"},
		{Pace{Cycles: MaxCycles + 1}, "Gossip.Cycles is 101"},
	} {
		err := test.pace.Check()
		if test.want == "" && err != nil || test.want != "" && (!errors.Is(err, sequencer.ErrInvalidConfig) ||
			!strings.Contains(err.Error(), test.want)) {
			t.Errorf("%+v: %v, want %q", test.pace, err, test.want)
		}
	}
}

// TestPaceOfMemberlist: the three settings govern probes, suspicion and news, and news does
// not wait for longer than two seconds however slow the probes are.
func TestPaceOfMemberlist(t *testing.T) {
	type set struct {
		probe, timeout, spread, state time.Duration
		cycles, slower                int
	}
	for _, test := range []struct {
		pace Pace
		want set
	}{
		{Pace{}, set{time.Second, 500 * time.Millisecond, 2 * time.Second, 30 * time.Second, 1, 2}},
		{Pace{Interval: 300 * time.Millisecond}, set{300 * time.Millisecond, 150 * time.Millisecond, 600 * time.Millisecond,
			30 * time.Second, 4, 8}},
		{Pace{Interval: 3 * time.Second, Timeout: time.Second, Cycles: 5}, set{3 * time.Second, time.Second, 2 * time.Second,
			30 * time.Second, 5, 1}},
		{Pace{Interval: time.Minute}, set{time.Minute, 30 * time.Second, 2 * time.Second, time.Minute, 1, 1}},
	} {
		conf := memberlist.DefaultLANConfig()
		test.pace.apply(conf)
		got := set{conf.ProbeInterval, conf.ProbeTimeout, conf.GossipInterval, conf.PushPullInterval, conf.SuspicionMult,
			conf.AwarenessMaxMultiplier}
		if got != test.want || conf.SuspicionMaxTimeoutMult != 3 {
			t.Errorf("%+v: memberlist has %+v, want %+v", test.pace, got, test.want)
		}
	}
}
