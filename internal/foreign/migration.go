package foreign

import (
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Plan is a sequencer that continues another generator's IDs.
type Plan struct {
	Config sequencer.Config
	// Floor is a time from which on every ID of the sequencer is larger than the largest existing one.
	Floor time.Time
	// First is the smallest ID at Floor.
	First sequencer.ID
	// Last is the end of the sequencer's IDs.
	Last time.Time
	// Same reports that the sequencer's IDs have the generator's format, so that one program reads both.
	Same bool
	// Parallel reports that the generator may continue on the nodes outside the range.
	Parallel bool
}

// leastLife is the minimum time from the largest existing ID to the end of a sequencer.
const leastLife = 365 * 24 * time.Hour

// longLife is a time to the end that a layout needs to be preferred to one with fewer IDs per millisecond.
const longLife = 20 * leastLife

// futureMax is the maximum time that the largest existing ID may lie in the future: more shows that the ID or
// the format is another generator's.
const futureMax = 24 * time.Hour

// Request is a migration.
type Request struct {
	Format Format
	Max    sequencer.ID // the largest existing ID
	Now    time.Time
	// Parallel requests that the generator continues on its nodes, 0 to Last, while the sequencer runs.
	Parallel bool
	// Nodes are the generator's nodes for Parallel; zero stands for the lower half.
	Nodes sequencer.NodeRange
}

// Migration returns the sequencer whose IDs are all larger than the largest existing one, or the reason why there
// is none.
func Migration(r Request) (Plan, error) {
	f := r.Format
	if !f.Fits(r.Max) {
		return Plan{}, fmt.Errorf("%v is not an ID of %s, which has %v; give its bits and epoch if they were changed",
			r.Max, f.Name, f)
	}
	last := f.Decompose(r.Max)
	if last.Time.Sub(r.Now) > futureMax {
		return Plan{}, fmt.Errorf("%v would be of %s as an ID of %s, which has %v; give its bits and epoch if they were "+
			"changed",
			r.Max, last.Time.Format(time.RFC3339), f.Name, f)
	}
	if layout, ok := f.layout(); ok {
		return r.same(layout, last)
	}
	if r.Parallel {
		return Plan{}, fmt.Errorf("%s cannot run in parallel: %s, so its IDs and a sequencer's could be equal; stop it, "+
			"and migrate with its largest ID then",
			f.Name, f.difference())
	}
	return r.above(last)
}

// layout returns the layout that divides the bits as the format does. It needs milliseconds, the node above the
// counter, and numbers within the limits of layouts.
func (f Format) layout() (sequencer.Layout, bool) {
	if f.Unit != time.Millisecond || f.NodeLow {
		return sequencer.Layout{}, false
	}
	for bits := min(63, f.Shift()+46); bits >= f.Shift()+32; bits-- {
		l := sequencer.Layout{Bits: bits, LowBits: f.Shift(), Nodes: 1 << f.NodeBits}
		if _, err := sequencer.Define("migrated", sequencer.Config{Layout: l}); err == nil {
			return l, true
		}
	}
	return sequencer.Layout{}, false
}

// difference names the property that a sequencer's IDs cannot have.
func (f Format) difference() string {
	switch {
	case f.Unit != time.Millisecond:
		return fmt.Sprintf("the unit of its time is %v, not a millisecond", f.Unit)
	case f.NodeLow:
		return "its node is below the counter"
	}
	return fmt.Sprintf("no layout has %d node bits and %d counter bits", f.NodeBits, f.CounterBits)
}

// same plans a sequencer with the format's own layout and epoch.
func (r Request) same(l sequencer.Layout, last Parts) (Plan, error) {
	cfg := sequencer.Config{Epoch: r.Format.Epoch, Layout: l}
	if r.Parallel {
		nodes, err := r.others(l.Nodes, last.Node)
		if err != nil {
			return Plan{}, err
		}
		cfg.NodeRange = nodes
	}
	p, err := planned(cfg, last.Time.Add(r.Format.Unit))
	p.Same, p.Parallel = true, r.Parallel
	return p, err
}

// others returns the nodes that the generator leaves free.
func (r Request) others(nodes int, last uint32) (sequencer.NodeRange, error) {
	old := r.Nodes
	if old == (sequencer.NodeRange{}) {
		old = sequencer.NodeRange{Hi: sequencer.NodeID(nodes/2 - 1)}
	}
	if int(old.Hi) >= nodes || old.Lo > old.Hi {
		return sequencer.NodeRange{}, fmt.Errorf("the generator's nodes %d to %d are not within 0 to %d",
			old.Lo, old.Hi, nodes-1)
	}
	if last < uint32(old.Lo) || last > uint32(old.Hi) {
		return sequencer.NodeRange{}, fmt.Errorf(
			"%v has node %d, and %s was to keep to the nodes %d to %d; give all the nodes that it uses by --old-nodes LO-HI",
			r.Max, last, r.Format.Name, old.Lo, old.Hi)
	}
	above, below := nodes-1-int(old.Hi), int(old.Lo)
	switch {
	case above == 0 && below == 0:
		return sequencer.NodeRange{}, fmt.Errorf("%s uses all %d nodes, so none is left for a sequencer; restrict it first",
			r.Format.Name, nodes)
	case above >= below:
		return sequencer.NodeRange{Lo: old.Hi + 1, Hi: sequencer.NodeID(nodes - 1)}, nil
	case below == 1:
		return sequencer.NodeRange{}, fmt.Errorf("%s leaves node 0 alone; restrict it to fewer nodes first", r.Format.Name)
	}
	return sequencer.NodeRange{Hi: old.Lo - 1}, nil
}

// above plans a sequencer with another layout, and an epoch early enough for IDs above the largest existing one.
func (r Request) above(last Parts) (Plan, error) {
	from := last.Time.Add(r.Format.Unit)
	if r.Format.Unit == time.Millisecond && r.Format.Shift() <= 24 { // as Hazelcast's: the time stays in its place
		layout := sequencer.Layout{Bits: 63, LowBits: r.Format.Shift(), Nodes: 1024}
		if p, err := planned(sequencer.Config{Epoch: r.Format.Epoch, Layout: layout}, from); err == nil {
			return p, nil
		}
	}
	if today := r.Now.UTC().Truncate(24 * time.Hour); today.After(from) {
		from = today // the later the epoch, the longer the sequencer lasts
	}
	var best Plan
	for low := 23; low >= 17; low-- {
		layout := sequencer.Layout{Bits: 63, LowBits: low, Nodes: 1 << min(13, low-10)}
		if low == 23 {
			layout = sequencer.Layout{}
		}
		p, err := planned(sequencer.Config{Epoch: earlier(r.Max, low, from), Layout: layout}, from)
		if err == nil && p.First > r.Max && p.Last.After(best.Last) {
			best = p
		}
		if best.Last.Sub(from) > longLife {
			break
		}
	}
	if best.Last.IsZero() {
		return Plan{}, fmt.Errorf("%v uses up %d %% of the 63 bits, and a sequencer above it would end within a year; keep "+
			"%s, or begin a new table",
			r.Max, uint64(r.Max)/(1<<63/100), r.Format.Name)
	}
	return best, nil
}

// earlier returns the latest midnight, at most the default epoch, from which a sequencer with so many low bits has
// IDs above an ID at a time.
func earlier(id sequencer.ID, low int, at time.Time) epoch.Epoch {
	const day = 24 * time.Hour
	ms := at.UnixMilli() - int64(id>>low) - 1
	midnight := time.UnixMilli(ms).UTC().Truncate(day)
	if midnight.After(epoch.Default.Time()) {
		return epoch.Default
	}
	return epoch.At(midnight)
}

// planned returns the plan of a definition that begins at a time.
func planned(cfg sequencer.Config, from time.Time) (Plan, error) {
	d, err := sequencer.Define("migrated", cfg)
	if err != nil {
		return Plan{}, err
	}
	if left := d.Exhausted().Sub(from); left < leastLife {
		return Plan{}, fmt.Errorf("a sequencer of layout %v from %v ends at %s, within a year of the largest ID",
			d.Config().Layout, d.Config().Epoch, d.Exhausted().Format(time.DateOnly))
	}
	return Plan{Config: cfg, Floor: from.UTC(), First: d.MinID(from), Last: d.Exhausted()}, nil
}
