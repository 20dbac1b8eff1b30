//go:build linux

package attack_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/long"
)

var (
	connections = flag.Int("connections", 300, "connections of each attack")
	lasting     = flag.Duration("for", 0, "how long each attack lasts; 0 = the usual time")
	ratioMax    = flag.Float64("ratio", 0,
		"most ratio of the 99th percentile of attaches under attack and calm, with -apart, measured while other processes "+
			"of the machine rest; 0 = not judged")
	apart = flag.Bool("apart", false,
		"attackers have one half of the processors, and members and the honest client the other")
	only   = flag.String("only", "", "attacks whose name has this; empty = all")
	rounds = flag.Int("rounds", 1, "how often each attack is measured; the median of its 99th percentiles is judged")
)

const (
	growthMax  = 64 // MB of memory that an attack may cost a member, and half of the limit of all together
	perProcess = 5000
)

// spans returns how long an attack lasts, and the pauses for attackers to begin and for members
// after their end.
func spans() (attack, settle time.Duration) {
	attack = cmp.Or(*lasting, long.Or(300*time.Millisecond, time.Second))
	return attack, min(attack, time.Second)
}

// TestAttacks runs every attack on a grid of agents, one after the other, and measures an
// honest client, health checks and memory before each and meanwhile.
func TestAttacks(t *testing.T) {
	long.NotShort(t, "it attacks agents for half a minute")
	if !allowFiles(4096) {
		t.Skip("the limit of open files is below 4,096 and cannot be raised")
	}
	if *ratioMax > 0 && !*apart {
		t.Fatalf("-ratio %v needs -apart: without it attackers have processors of the members", *ratioMax)
	}
	stayApart(t)
	agents, dir := startAgents(t, 3)
	f := &field{agents: agents, dir: dir}
	for _, a := range agents {
		f.api, f.other = append(f.api, a.api), append(f.other, a.raft, a.gossip)
	}
	f.honest = newHonest(t, dir, f.api)
	f.honest.measure(t, time.Second) // connections are opened
	began := resident(agents)
	var rows []row
	for range *rounds {
		for _, name := range slices.Sorted(maps.Keys(attacks)) {
			if strings.Contains(name, *only) {
				rows = append(rows, f.measured(t, name)...)
			}
		}
	}
	judge(t, rows)
	end := resident(agents)
	t.Logf("at the end %d MB", end)
	if end-began > 2*growthMax { // garbage of one attack may remain until the next ones
		t.Errorf("a member grew from %d to %d MB by all attacks", began, end)
	}
}

// field is a grid that is attacked, with its honest client.
type field struct {
	agents     []*agent
	honest     *honest
	dir        string // of the security files
	api, other []string
	waited     time.Duration // for other processes of the machine
}

// row has the figures before an attack and during it.
type row struct {
	name            string
	calm, under     *measured
	calmMB, underMB int     // memory of the largest member
	calmUse, use    float64 // processors that all members had
	strangers       float64 // processors of the members that other processes of the machine had, at most
	said            []string
}

// measured measures an attack until other processes do not disturb it, and returns each attempt.
func (f *field) measured(t *testing.T, name string) (rows []row) {
	t.Helper()
	for {
		f.awaitQuiet(t)
		began := time.Now()
		r := f.attack(t, name)
		rows = append(rows, r)
		t.Logf("%s: %s", name, strings.Join(r.said, "; "))
		if !f.again(t, r, began) {
			return rows
		}
	}
}

// attack measures one attack.
func (f *field) attack(t *testing.T, name string) row {
	t.Helper()
	lasts, settle := spans()
	<-time.After(settle)
	r := row{name: name, calmMB: resident(f.agents)}
	var strangers float64
	r.calm, r.calmUse, r.strangers = f.measure(t)
	var said []func() string
	for i := 0; i < *connections; i += perProcess {
		said = append(said, launch(t, order{
			Attack: name, Dir: f.dir, API: f.api, Other: f.other, From: fmt.Sprintf("127.0.0.%d", 66+i/perProcess),
			Connections: min(perProcess, *connections-i), For: lasts + settle, Apart: *apart,
		}))
	}
	<-time.After(settle) // they have begun
	most := watch(f.agents)
	r.under, r.use, strangers = f.measure(t)
	r.strangers = max(r.strangers, strangers)
	r.underMB = most()
	for _, s := range said {
		r.said = append(r.said, s())
	}
	return r
}

// measure measures the honest client, and the processors that members, and other processes of those of the
// members, had meanwhile.
func (f *field) measure(t *testing.T) (m *measured, members, strangers float64) {
	t.Helper()
	before := f.spentNow(t)
	lasts, _ := spans()
	m = f.honest.measure(t, lasts)
	if members, strangers = f.spentNow(t).since(before); !*apart {
		strangers = 0 // members have no half of their own
	}
	return m, members, strangers
}

// judge prints the table and reports the kinds beyond the limits. What it compares are medians of
// 99th percentiles: one of them alone rests on a few of some hundred attaches, and a tenth of a
// second in which the machine has something else to do changes it by more than an attack.
func judge(t *testing.T, rows []row) {
	t.Helper()
	if len(rows) == 0 {
		t.Fatal("no attack has such a name")
	}
	calm, calms := calmOf(rows)
	t.Logf("calm: 99th percentile %v, of %v", calm, calms)
	t.Logf("%-36s %8s %8s %8s %8s %6s %8s %8s %7s %7s %10s %6s", "attack", "calm p50", "p99", "p50", "p99",
		"ratio", "new: p50", "p99", "livez", "MB", "processors", "others")
	under := map[string][]time.Duration{}
	for _, r := range rows {
		if r.quiet() {
			under[r.name] = append(under[r.name], r.under.at(99))
		}
		t.Logf("%-36s %8v %8v %8v %8v %6.1f %8v %8v %3d/%3d %3d>%3d %4.2f>%5.2f %6.2f", r.name,
			r.calm.at(50), r.calm.at(99), r.under.at(50), r.under.at(99), ratioOf(r.under.at(99), calm),
			percentile(r.under.created, 50), percentile(r.under.created, 99),
			r.under.alive, r.under.alive+r.under.dead, r.calmMB, r.underMB, r.calmUse, r.use, r.strangers)
		if r.under.dead > 0 {
			t.Errorf("%s: %d of %d health checks were not answered: %v", r.name, r.under.dead, r.under.alive+r.under.dead,
				r.under.why)
		}
		if r.under.failed > 0 || len(r.under.took) == 0 {
			t.Errorf("%s: %d attaches failed, %d did not: %v", r.name, r.under.failed, len(r.under.took), r.under.why)
		}
		if r.underMB-r.calmMB > growthMax {
			t.Errorf("%s: a member grew by %d MB", r.name, r.underMB-r.calmMB)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(under)) {
		slices.Sort(under[name])
		ratio := ratioOf(under[name][len(under[name])/2], calm)
		t.Logf("%-36s %4.1f times the calm, of %v", name, ratio, under[name])
		if *ratioMax > 0 && ratio > *ratioMax {
			t.Errorf("%s: the 99th percentile of attaches is %.1f times that of the calm", name, ratio)
		}
	}
}

// calmOf returns the median of the 99th percentiles before the attacks of quiet rows, and all of those. If no
// row is quiet, no ratio is judged.
func calmOf(rows []row) (median time.Duration, all []time.Duration) {
	for _, r := range rows {
		if r.quiet() {
			all = append(all, r.calm.at(99))
		}
	}
	if len(all) == 0 {
		return 0, nil
	}
	slices.Sort(all)
	return all[len(all)/2], all
}

// ratioOf returns how often a time has the calm's, 0 without a calm.
func ratioOf(of, calm time.Duration) float64 {
	if calm == 0 {
		return 0
	}
	return float64(of) / float64(calm)
}

// watch follows the agents' memory until its end, which returns the most in MB.
func watch(agents []*agent) (end func() int) {
	done, most := make(chan struct{}), make(chan int)
	go func() {
		mb := 0
		for {
			mb = max(mb, resident(agents))
			select {
			case <-time.After(100 * time.Millisecond):
			case <-done:
				most <- mb
				return
			}
		}
	}()
	return func() int { close(done); return <-most }
}
