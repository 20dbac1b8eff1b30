package metric

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
	// OtherName is the name of the series for all other sequencers. A sequencer with this name has
	// no separate series.
	OtherName = "other"
)

// Counts are a sequencer's counts.
type Counts struct{ IDs, Waits uint64 }

func (c Counts) plus(o Counts) Counts { return Counts{c.IDs + o.IDs, c.Waits + o.Waits} }

// since returns the difference to an earlier reading. Counts that are smaller have begun
// again.
func (c Counts) since(o Counts) Counts {
	if c.IDs < o.IDs || c.Waits < o.Waits {
		return c
	}
	return Counts{c.IDs - o.IDs, c.Waits - o.Waits}
}

// Use is a reading for one sequencer.
type Use struct {
	Name string
	Counts
}

// Busiest divides the sequencers' counts into series that never decrease. Each reading adds the
// difference to the previous one: to the name's series if it has one, else to "other". Its zero
// value is ready.
type Busiest struct {
	names  map[string]*tracked // from the last reading
	series map[string]*series
	other  Counts
	given  Counts // to all series except other, including ended ones
	whole  bool   // the last reading listed every name that was ever counted
	at     time.Time
}

// tracked is a name in the last reading.
type tracked struct {
	last   Counts
	weight float64 // of its IDs, by age
}

// series is a name's series. An inactive one receives no counts.
type series struct {
	Use
	active bool
	until  time.Time // not active, or its name is gone: when it ends
}

// Update applies a reading: the totals over all sequencers, listed or not, and the counts of the
// listed ones. It returns the series by name, including "other".
func (b *Busiest) Update(now time.Time, total Counts, uses []Use) []Use {
	if b.series == nil {
		b.series, b.whole, b.at = map[string]*series{}, true, now
	}
	news := b.read(now, uses)
	b.choose(now)
	for name, n := range news {
		if s := b.series[name]; s != nil && s.active {
			s.Counts = s.plus(n)
			b.given = b.given.plus(n)
		}
	}
	b.other = Counts{max(b.other.IDs, less(total.IDs, b.given.IDs)), max(b.other.Waits, less(total.Waits, b.given.Waits))}
	var listed Counts
	for _, u := range uses {
		listed = listed.plus(u.Counts)
	}
	b.whole = b.whole && listed == total
	out := []Use{{OtherName, b.other}}
	for _, s := range b.series {
		out = append(out, s.Use)
	}
	slices.SortFunc(out, func(a, b Use) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// HasSeries reports whether a name has an active series.
func (b *Busiest) HasSeries(name string) bool {
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
func (b *Busiest) read(now time.Time, uses []Use) map[string]Counts {
	decay := math.Exp2(-float64(now.Sub(b.at)) / float64(weightHalf))
	names, news := make(map[string]*tracked, len(uses)), make(map[string]Counts, len(uses))
	for _, u := range uses {
		n := &tracked{last: u.Counts}
		old := b.names[u.Name]
		switch {
		case old != nil:
			news[u.Name] = u.since(old.last)
			n.weight = old.weight * decay
		case b.whole:
			news[u.Name] = u.Counts
		}
		n.weight += float64(news[u.Name].IDs)
		names[u.Name] = n
	}
	b.names, b.at = names, now
	return news
}

// choose gives series to the busiest names, and takes them from others. A name loses its series
// only to a name with twice its weight, so that two do not alternate.
func (b *Busiest) choose(now time.Time) {
	active := 0
	var rest []string
	for name := range b.names {
		if s := b.series[name]; s != nil && s.active {
			active++
		} else if name != OtherName {
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
func (b *Busiest) least(byWeight func(x, y string) int) (least string) {
	for name := range b.names {
		if s := b.series[name]; s != nil && s.active && (least == "" || byWeight(name, least) > 0) {
			least = name
		}
	}
	return least
}

// activate gives a name an active series: its former one, if that is still reported.
func (b *Busiest) activate(name string) {
	s := b.series[name]
	if s == nil {
		s = &series{Use: Use{Name: name}}
		b.series[name] = s
	}
	s.active, s.until = true, time.Time{}
}

// drop removes the series of deleted or inactive names after an hour, and the oldest ones if there
// are too many.
func (b *Busiest) drop(now time.Time) {
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
		return cmp.Or(x.until.Compare(y.until), cmp.Compare(x.Name, y.Name))
	})
	for i, s := range ending {
		if !s.until.After(now) || len(ending)-i > seriesMax-busiestMax {
			delete(b.series, s.Name)
		}
	}
}
