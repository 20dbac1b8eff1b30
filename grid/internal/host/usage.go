package host

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
)

const (
	// usedNames bounds the names with recorded use, and usageShown the names per reading.
	usedNames  = 4096
	usageShown = 200
	// usedMax bounds one report, far above the IDs of a process in an hour.
	usedMax = 1 << 40
	// usageHalf is the time in which the weight of a report halves.
	usageHalf = 5 * time.Minute
)

// usage adds up the use of the sequencers that this member owned since it started, as their holders have
// reported it. No decision depends on it. Its zero value is ready.
type usage struct {
	mu         sync.Mutex // never held while waiting
	ids, waits uint64
	names      map[string]*nameUsage
}

type nameUsage struct {
	ids, waits uint64
	weight     float64       // of the IDs, by their age
	at, since  time.Duration // of the last and the first report
}

func (u *nameUsage) weightAt(now time.Duration) float64 {
	return u.weight * math.Exp2(-float64(now-u.at)/float64(usageHalf))
}

func (s *usage) add(now time.Duration, u wire.Used) {
	u.IDs, u.Waits = min(u.IDs, usedMax), min(u.Waits, usedMax)
	if u.IDs == 0 && u.Waits == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids += u.IDs
	s.waits += u.Waits
	n := s.names[u.Name]
	if n == nil {
		if s.names == nil {
			s.names = map[string]*nameUsage{}
		}
		if len(s.names) == usedNames {
			for _, name := range s.byWeight(now)[usedNames/2:] { // used least lately
				delete(s.names, name)
			}
		}
		n = &nameUsage{since: now}
		s.names[u.Name] = n
	}
	n.ids += u.IDs
	n.waits += u.Waits
	n.weight, n.at = n.weightAt(now)+float64(u.IDs), now
}

func (s *usage) byWeight(now time.Duration) []string {
	weights := make(map[string]float64, len(s.names))
	for name, n := range s.names {
		weights[name] = n.weightAt(now)
	}
	return slices.SortedFunc(maps.Keys(weights), func(a, b string) int {
		return cmp.Or(cmp.Compare(weights[b], weights[a]), cmp.Compare(a, b))
	})
}

func (s *usage) read(now time.Duration) (all wire.Used, busiest []wire.Used) {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := s.byWeight(now)
	for _, name := range names[:min(len(names), usageShown)] {
		busiest = append(busiest, wire.Used{Name: name, IDs: s.names[name].ids, Waits: s.names[name].waits})
	}
	return wire.Used{IDs: s.ids, Waits: s.waits}, busiest
}

// recent returns the use of one name, and about how many IDs per second its holders reported
// in the last minutes: 0 if they have reported none for quiet, in which a holder that takes
// IDs reports several times.
func (s *usage) recent(name string, now, quiet time.Duration) (used wire.Used, rate float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	used.Name = name
	if n := s.names[name]; n != nil {
		used.IDs, used.Waits = n.ids, n.waits
		if now-n.at <= quiet {
			rate = n.rate(now)
		}
	}
	return used, rate
}

const reportEvery = 4 * time.Second

// rate returns the IDs per second in the reports, weighted by age: reports of a steady use converge to
// a total weight of rate*half/ln 2.
func (u *nameUsage) rate(now time.Duration) float64 {
	age := now - u.since + reportEvery
	share := 1 - math.Exp2(-float64(age)/float64(usageHalf))
	return u.weightAt(now) * math.Ln2 / usageHalf.Seconds() / share
}

// Usage returns the reported use of all sequencers, and of the busiest.
func (b *useBook) Usage() (all wire.Used, busiest []wire.Used) { return b.usage.read(b.clock.Mono()) }

// UsageOf returns the reported use of one sequencer.
func (b *useBook) UsageOf(name string) wire.Used {
	used, _ := b.usage.recent(name, b.clock.Mono(), 0)
	return used
}

// noteUsed adds a holder's report on existing sequencers in partitions owned by this member, so that
// callers cannot invent names. It does not wait: it omits a report that finds an actor busy.
func (h *Host) noteUsed(reported []wire.Used) {
	reported = reported[:min(len(reported), wire.MaxUsed)]
	byPartition := map[roster.PartitionID][]wire.Used{}
	partitions := len(h.state.Roster().Partitions)
	for _, u := range reported {
		if partitions > 0 {
			id := roster.PartitionOf(u.Name, partitions)
			byPartition[id] = append(byPartition[id], u)
		}
	}
	for _, used := range byPartition {
		o, err := h.ownerOf(used[0].Name)
		if err != nil {
			continue
		}
		o.tryPut(job{serve: func(v partition.View) { o.noteUsed(v, used) }})
	}
}

// noteUsed adds the use of names that this owner's table has.
func (o *actor) noteUsed(v partition.View, reported []wire.Used) {
	if o.machine.Serves(v) != nil {
		return
	}
	for _, u := range reported {
		if _, err := o.machine.Table().Open(u.Name); err == nil {
			o.host.usage.add(o.host.clock.Mono(), u)
		}
	}
	o.machine.Observe(v)
}
