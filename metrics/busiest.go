package metrics

import (
	"cmp"
	"math"
	"slices"
	"time"
)

const (
	// busiestMax is the number of sequencers with separate series.
	busiestMax = 50
	// seriesMax bounds the series, including ended ones that are still reported.
	seriesMax = 2 * busiestMax
	// seriesKept is the time for which a series is reported after its last count.
	seriesKept = time.Hour
	// weightHalf is the time in which an ID's weight halves.
	weightHalf = 5 * time.Minute
	// otherName is the name of the series for all other sequencers. A sequencer with this name has
	// no separate series.
	otherName = "other"
)

// counts are a sequencer's counts.
type counts struct{ ids, waits uint64 }

func (c counts) plus(o counts) counts { return counts{c.ids + o.ids, c.waits + o.waits} }

// since returns the difference to an earlier reading. Counts that are smaller have begun
// again.
func (c counts) since(o counts) counts {
	if c.ids < o.ids || c.waits < o.waits {
		return c
	}
	return counts{c.ids - o.ids, c.waits - o.waits}
}

// use is a reading for one sequencer.
type use struct {
	name string
	counts
}

// busiest divides the sequencers' counts into series that never decrease. Each reading adds the
// difference to the previous one: to the name's series if it has one, else to "other". Its zero
// value is ready.
type busiest struct {
	names  map[string]*tracked // from the last reading
	series map[string]*series
	other  counts
	given  counts // to all series except other, including ended ones
	whole  bool   // the last reading listed every name that was ever counted
	at     time.Time
}

// tracked is a name in the last reading.
type tracked struct {
	last   counts
	weight float64 // of its IDs, by age
}

// series is a name's series. An inactive one receives no counts.
type series struct {
	use
	active bool
	until  time.Time // not active, or its name is gone: when it ends
}

// update applies a reading: the totals over all sequencers, listed or not, and the counts of the
// listed ones. It returns the series by name, including "other".
func (b *busiest) update(now time.Time, total counts, uses []use) []use {
	if b.series == nil {
		b.series, b.whole, b.at = map[string]*series{}, true, now
	}
	news := b.read(now, uses)
	b.choose(now)
	for name, n := range news {
		if s := b.series[name]; s != nil && s.active {
			s.counts = s.plus(n)
			b.given = b.given.plus(n)
		}
	}
	b.other = counts{max(b.other.ids, less(total.ids, b.given.ids)), max(b.other.waits, less(total.waits, b.given.waits))}
	var listed counts
	for _, u := range uses {
		listed = listed.plus(u.counts)
	}
	b.whole = b.whole && listed == total
	out := []use{{otherName, b.other}}
	for _, s := range b.series {
		out = append(out, s.use)
	}
	slices.SortFunc(out, func(a, b use) int { return cmp.Compare(a.name, b.name) })
	return out
}

// hasSeries reports whether a name has an active series.
func (b *busiest) hasSeries(name string) bool {
	s := b.series[name]
	return s != nil && s.active
}

// less returns a-b, 0 if that is negative.
func less(a, b uint64) uint64 {
	if a < b {
		return 0
	}
	return a - b
}

// read replaces the names with a reading's names, and returns their counts since the last reading.
// The result lacks a name that was not listed then, unless all names were.
func (b *busiest) read(now time.Time, uses []use) map[string]counts {
	decay := math.Exp2(-float64(now.Sub(b.at)) / float64(weightHalf))
	names, news := make(map[string]*tracked, len(uses)), make(map[string]counts, len(uses))
	for _, u := range uses {
		n := &tracked{last: u.counts}
		old := b.names[u.name]
		switch {
		case old != nil:
			news[u.name] = u.since(old.last)
			n.weight = old.weight * decay
		case b.whole:
			news[u.name] = u.counts
		}
		n.weight += float64(news[u.name].ids)
		names[u.name] = n
	}
	b.names, b.at = names, now
	return news
}

// choose gives series to the busiest names, and takes them from others. A name loses its series
// only to a name with twice its weight, so that two do not alternate.
func (b *busiest) choose(now time.Time) {
	active := 0
	var rest []string
	for name := range b.names {
		if s := b.series[name]; s != nil && s.active {
			active++
		} else if name != otherName {
			rest = append(rest, name)
		}
	}
	byWeight := func(x, y string) int {
		return cmp.Or(cmp.Compare(b.names[y].weight, b.names[x].weight), cmp.Compare(x, y))
	}
	slices.SortFunc(rest, byWeight)
	for ; len(rest) > 0 && active < busiestMax; rest = rest[1:] {
		b.activate(rest[0])
		active++
	}
	for ; len(rest) > 0; rest = rest[1:] {
		least := b.least(byWeight)
		if b.names[rest[0]].weight <= 2*b.names[least].weight {
			break
		}
		b.series[least].active, b.series[least].until = false, now.Add(seriesKept)
		b.activate(rest[0])
	}
	b.drop(now)
}

// least returns the active name with the least weight.
func (b *busiest) least(byWeight func(x, y string) int) (least string) {
	for name := range b.names {
		if s := b.series[name]; s != nil && s.active && (least == "" || byWeight(name, least) > 0) {
			least = name
		}
	}
	return least
}

// activate gives a name an active series: its former one, if that is still reported.
func (b *busiest) activate(name string) {
	s := b.series[name]
	if s == nil {
		s = &series{use: use{name: name}}
		b.series[name] = s
	}
	s.active, s.until = true, time.Time{}
}

// drop removes the series of deleted or inactive names after an hour, and the oldest ones if there
// are too many.
func (b *busiest) drop(now time.Time) {
	var ending []*series
	for name, s := range b.series {
		switch {
		case s.active && b.names[name] != nil:
			continue
		case s.active: // its name is gone
			s.active, s.until = false, now.Add(seriesKept)
		}
		ending = append(ending, s)
	}
	slices.SortFunc(ending, func(x, y *series) int {
		return cmp.Or(x.until.Compare(y.until), cmp.Compare(x.name, y.name))
	})
	for i, s := range ending {
		if !s.until.After(now) || len(ending)-i > seriesMax-busiestMax {
			delete(b.series, s.name)
		}
	}
}
