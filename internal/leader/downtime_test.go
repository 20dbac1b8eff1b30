package leader

import (
	"context"
	"errors"
	"flag"
	"github.com/snowgrid/snowgrid/internal/long"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// More restarts than in an ordinary run; a failure names its seed:
//
//	go test ./internal/leader -run TestTimeAfterADowntime -restarts 200000
var restarts = flag.Int("restarts", 150, "how many restarts TestTimeAfterADowntime makes")

// restart is a grid that starts again after a downtime: one voter leads, and the others
// register one after the other. The time of its clocks is the true one, to 300 ms, except
// for voters whose clocks are wrong.
type restart struct {
	*office
	random *rand.Rand
	up     []time.Duration    // by voter: when it has registered, by the leader's clock
	error  []clustertime.Span // by voter: how far its clock is ahead
	began  time.Duration
	start  clustertime.Tick // true time at the start
	waits  []Probe          // that are not answered yet
}

func newRestart(t *testing.T, seed int, down time.Duration, wrong func(*restart)) *restart {
	random := rand.New(rand.NewPCG(uint64(seed), 34))
	r := &restart{office: lead(t, []int{1, 3, 5}[random.IntN(3)], true), random: random}
	r.assign()
	stop := r.v.Wall
	r.apply(roster.Command{From: r.v.Roster.Version, Raise: &roster.Raise{Time: stop}})
	r.began, r.start = r.v.Mono, stop.Add(clustertime.SpanOf(down))
	for i := range r.v.Servers {
		r.up = append(r.up, r.began+time.Duration(i*random.IntN(8000))*time.Millisecond)
		r.error = append(r.error, clustertime.Span(random.IntN(600)-300))
		r.v.Servers[i].Voter = true
	}
	if wrong != nil {
		wrong(r)
	}
	r.elect()
	return r
}

// elect begins a lead in a process that has applied no raise since it started.
func (r *restart) elect() {
	r.l = New(Config{Self: record(1, true), Grid: roster.GridID{7}, Expect: len(r.up)}, r.office)
	r.probes, r.commands, r.waits, r.v.Raised = nil, nil, nil, Raise{}
}

// now returns the true time now.
func (r *restart) now() clustertime.Tick { return r.start.Add(clustertime.SpanOf(r.v.Mono - r.began)) }

// pass lets a tenth of a second pass, and returns the time of a raise that was agreed on, 0 for none.
func (r *restart) pass() (raised clustertime.Tick) {
	r.v.Wall = r.now().Add(r.error[0])
	r.step(StepEvery)
	r.v.Wall = r.now().Add(r.error[0])
	r.waits = append(r.waits, r.take(forClocks)...)
	r.waits = slices.DeleteFunc(r.waits, r.answered)
	commands := r.commands
	r.commands = nil
	for _, c := range commands {
		if c.Raise == nil {
			r.l.Proposed(r.v, c, errors.New("not in this test"))
			continue
		}
		r.apply(c)
		r.v.Raised = Raise{Time: r.v.Roster.Time, At: r.v.Mono}
		r.l.Proposed(r.v, c, nil)
		raised = r.v.Roster.Time
	}
	return raised
}

// answered answers a probe, or lets it wait: a voter that has not registered refuses calls, or is
// silent.
func (r *restart) answered(p Probe) bool {
	voter := memberOf(p.To) - 1
	switch {
	case r.v.Mono >= r.up[voter]:
		r.l.Probed(r.v, p, Answer{Grid: r.v.Roster.Grid, Wall: r.now().Add(r.error[voter])}, nil)
	case r.random.IntN(2) == 0:
		r.l.Probed(r.v, p, Answer{}, ErrAbsent)
	case r.v.Mono-p.began >= p.Timeout:
		r.l.Probed(r.v, p, Answer{}, context.DeadlineExceeded)
	default:
		return false
	}
	return true
}

// downtime returns a stop of a second to 60 days, as often of seconds as of days.
func downtime(random *rand.Rand) time.Duration {
	const longest = 60 * 24 * time.Hour
	return time.Duration(math.Exp(random.Float64()*math.Log(float64(longest/time.Second))) * float64(time.Second))
}

// TestTimeAfterADowntime: however long a grid was stopped, and in whatever order its voters
// register, its first time is that of the clocks, as is each one after that, and none is held (R1).
// Other leaders may follow before and after the first raise.
func TestTimeAfterADowntime(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	for seed := range *restarts {
		down := downtime(rand.New(rand.NewPCG(uint64(seed), 1)))
		r := newRestart(t, seed, down, nil)
		last, raises := r.v.Roster.Time, 0
		for range 200 {
			if r.random.IntN(100) == 0 {
				r.elect()
			}
			at := r.pass()
			if at == 0 {
				continue
			}
			raises++
			if off := max(at-r.now(), r.now()-at); at < last || off > 1500 && down > 2*time.Second {
				t.Fatalf("seed %d, %d voters, stopped for %v: raised to %d after %d, %v off", seed, len(r.up), down, at, last,
					at.Sub(r.now()).Duration())
			}
			last = at
		}
		for _, v := range r.verdicts {
			if v.Held {
				t.Fatalf("seed %d, stopped for %v: held by %+v", seed, down, v)
			}
		}
		if raises < 5 && slices.Max(r.up)-r.began < 10*time.Second {
			t.Fatalf("seed %d, %d voters: %d raises", seed, len(r.up), raises)
		}
	}
}

// TestWrongClocksAfterADowntime: one voter whose clock is far ahead does not pull the grid along,
// neither at its start nor later; and clocks that are behind the log do not move
// its time back.
func TestWrongClocksAfterADowntime(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	for seed := range *restarts / 4 {
		ahead := seed%2 == 0
		r := newRestart(t, seed, downtime(rand.New(rand.NewPCG(uint64(seed), 2))), func(r *restart) {
			for i := range r.error {
				if !ahead {
					r.error[i] -= clustertime.SpanOf(90 * 24 * time.Hour)
				}
			}
			if ahead && len(r.error) > 1 { // the leader's clock is as likely to be wrong
				r.error[r.random.IntN(len(r.error))] += clustertime.SpanOf(downtime(r.random) + time.Hour)
			}
		})
		last := r.v.Roster.Time
		for range 800 {
			at := r.pass()
			if at != 0 && (at < last || ahead && len(r.up) > 1 && at > r.now()+500) {
				t.Fatalf("seed %d, clocks %v: raised to %d after %d, %v ahead", seed, r.error, at, last, at.Sub(r.now()).Duration())
			}
			last = max(last, at)
		}
	}
}

// TestRestartWithoutAMajorityOfClocks: a leader that reaches no majority's clocks for a minute
// continues from the time of the log, and follows the clocks as soon as a majority answers.
func TestRestartWithoutAMajorityOfClocks(t *testing.T) {
	r := newRestart(t, 2, time.Hour, func(r *restart) {
		for i := range r.up[1:] {
			r.up[1+i] = r.began + 90*time.Second
		}
	})
	if len(r.up) == 1 {
		t.Fatal("the seed makes one voter")
	}
	stop, first := r.v.Roster.Time, time.Duration(0)
	for r.v.Mono-r.began < 100*time.Second {
		at := r.pass()
		if at > 0 && first == 0 {
			first = r.v.Mono - r.began
			if at.Sub(stop) > 5000 {
				t.Errorf("the first raise is to %v after the stop, without clocks", at.Sub(stop).Duration())
			}
		}
	}
	if first < clocksAwaited || first > clocksAwaited+3*time.Second {
		t.Errorf("the first raise came after %v", first)
	}
	if off := r.now().Sub(r.v.Roster.Time); off > 2500 {
		t.Errorf("%v behind, ten seconds after the clocks answered", off.Duration())
	}
}
