package sequencer

import (
	"cmp"
	"errors"
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
)

// maxNameBytes limits sequencer names.
const maxNameBytes = 255

// maxEpochMilli is 9999-12-31T23:59:59.999Z, the last possible epoch, in
// Unix milliseconds. The first is 0. Between them no sum of an epoch and an
// offset overflows, and every epoch has a text of RFC 3339.
const maxEpochMilli = 253_402_300_799_999

// NodeID is a logical node, the node field of IDs. One attachment at a time owns it. It is below
// the sequencer's node count.
type NodeID uint16

// Config configures a new sequencer. The zero value is a good choice.
type Config struct {
	// Epoch is the time origin of the IDs. It must be in the past when the
	// sequencer is created, by less than 34.8 years (with another layout,
	// 2^(Bits-LowBits) milliseconds), and in the years 1970 to 9999. The zero value
	// is epoch.Default, the start of 2026.
	Epoch epoch.Epoch

	// Nodes is the number of holders that can generate IDs at the same time: 128 to 8192, rounded
	// up to a power of two. 0 means 8192. The fewer nodes, the more IDs each has in a millisecond,
	// from 1,024 at 8192 nodes to 65,536 at 128. With a Layout, 16 to Layout.Nodes, and 0 means
	// Layout.Nodes.
	Nodes int

	// Layout divides the bits of the IDs. Most users leave it out.
	Layout Layout

	// NodeRange restricts holders to some logical nodes, and leaves the others to another generator with
	// the same layout and epoch. The zero value is all nodes.
	NodeRange NodeRange
}

// Definition has the constant properties of a sequencer: name, epoch, node count, layout and node range.
// Definitions compare by ==, after rounding, so 8000 nodes and 8192 nodes define the same
// sequencer. Make one with [Define]; the zero value defines nothing.
//
// A Definition needs no grid. It decomposes and composes IDs, and converts a time range to a range
// of IDs.
type Definition struct {
	name   string
	epoch  epoch.Epoch
	layout layout
	nodes  NodeRange // of the holders: within the layout's
}

// Parts is an ID taken apart.
type Parts struct {
	// Time is the millisecond of the ID. Definition.Decompose gives it in UTC.
	Time time.Time

	// Node is the logical node that the ID was issued for.
	Node NodeID

	// Counter numbers the IDs of one node in one millisecond, from 0.
	Counter uint32
}

// Define returns the definition of a sequencer. The name has 1 to 255 bytes of valid UTF-8 without
// control characters. A new name also has no space at either end, and no character that is invisible
// or looks like a line break: members, clients and stores refuse to create one. Define returns
// ErrInvalidConfig for a name, epoch, node count, layout or node range outside its limits. It reads no clock;
// IDs can be issued from the epoch to [Definition.Exhausted].
func Define(name string, cfg Config) (Definition, error) {
	if err := checkName(name); err != nil {
		return Definition{}, err
	}
	if ms := cfg.Epoch.UnixMilli(); ms < 0 || ms > maxEpochMilli {
		return Definition{}, failure.Errorf(ErrInvalidConfig,
			"sequencer: epoch %v is outside the years 1970 to 9999: give one inside, such as epoch.Default", cfg.Epoch)
	}
	l, err := layoutFor(cfg.Layout, cfg.Nodes)
	if err != nil {
		return Definition{}, err
	}
	nodes, err := cfg.NodeRange.within(l.nodes())
	if err != nil {
		return Definition{}, err
	}
	return Definition{name: name, epoch: cfg.Epoch, layout: l, nodes: nodes}, nil
}

func checkName(name string) error {
	if name == "" {
		return failure.Errorf(ErrInvalidConfig, "sequencer: the name is empty: give 1 to %d bytes", maxNameBytes)
	}
	if len(name) > maxNameBytes {
		return failure.Errorf(ErrInvalidConfig, "sequencer: name %s is longer than %d bytes: give a shorter one",
			excerpt(name), maxNameBytes)
	}
	if !utf8.ValidString(name) {
		return failure.Errorf(ErrInvalidConfig, "sequencer: name %s is not valid UTF-8: give text in UTF-8", excerpt(name))
	}
	for _, r := range name {
		if unicode.IsControl(r) {
			return failure.Errorf(ErrInvalidConfig, "sequencer: name %s contains the control character %U: leave it out",
				excerpt(name), r)
		}
	}
	return nil
}

// checkAt reports whether the sequencer has IDs at now. It returns ErrInvalidConfig if the epoch is
// later than now, and an error that matches both ErrInvalidConfig and ErrEpochExhausted if the last
// ID's millisecond has passed.
func (d Definition) checkAt(now clustertime.Tick) error {
	start := d.start()
	switch {
	case start > now:
		return failure.Errorf(ErrInvalidConfig,
			"sequencer %q: epoch %v is in the future, it is now %v; give an epoch in the past, or check the clocks",
			d.name, d.epoch, epoch.UnixMilli(int64(now)))
	case now.Sub(start) >= d.layout.end():
		return failure.Errorf(errors.Join(ErrInvalidConfig, ErrEpochExhausted),
			"sequencer %q: epoch %v ran out of IDs at %v; give a later one, or leave the epoch out for %v",
			d.name, d.epoch, epoch.At(d.Exhausted()), epoch.Default)
	}
	return nil
}

// Name returns the sequencer's name.
func (d Definition) Name() string { return d.name }

// Config returns the configuration in full: [Define] makes this definition from it, the node count is
// rounded, and the layout and the node range are stated even if the sequencer has the default ones.
func (d Definition) Config() Config {
	return Config{Epoch: d.epoch, Nodes: d.layout.nodes(), Layout: d.layout.whole(), NodeRange: d.nodes}
}

// String returns a readable form of the definition:
//
//	"orders" (epoch 2026-01-01T00:00:00.000Z, 8192 nodes)
//	"tweets" (epoch 2010-11-04T01:42:54.657Z, 1024 nodes, layout 63/22/1024)
//	"moved" (epoch 2010-11-04T01:42:54.657Z, 1024 nodes, layout 63/22/1024, holders have nodes 32 to 1023)
func (d Definition) String() string {
	rest := ""
	if l := d.layout.whole(); l != wholeLayout && d != (Definition{}) {
		rest = ", layout " + l.String()
	}
	if d.nodes != (NodeRange{Hi: NodeID(d.layout.nodes() - 1)}) {
		rest += fmt.Sprintf(", holders have nodes %d to %d", d.nodes.Lo, d.nodes.Hi)
	}
	return fmt.Sprintf("%q (epoch %v, %d nodes%s)", d.name, d.epoch, d.layout.nodes(), rest)
}

// Exhausted returns the time, in UTC, at which the sequencer runs out of IDs: 2^40 ms, about 34.8
// years, after its epoch, or 2^(Bits-LowBits) ms with another layout. The last IDs belong to the
// millisecond before.
func (d Definition) Exhausted() time.Time {
	return d.start().Add(d.layout.end()).Time()
}

// Decompose splits an ID of this sequencer into its parts. It accepts any ID: the parts do not
// prove that it was issued, and the parts of another sequencer's ID are meaningless if that one's
// epoch, node count or layout differs.
func (d Definition) Decompose(id ID) Parts {
	offset, node, counter := d.layout.decompose(id)
	return Parts{
		Time:    d.start().Add(offset).Time(),
		Node:    node,
		Counter: counter,
	}
}

// Compose builds the ID with these parts. It issues nothing: the same parts give the same ID. The
// time is truncated to a millisecond. Compose returns ErrInvalidID for a time before the epoch, a node
// that is not below the node count, or a counter too large for a millisecond, and an error that
// matches both ErrInvalidID and ErrEpochExhausted for a time not before [Definition.Exhausted].
func (d Definition) Compose(p Parts) (ID, error) {
	switch {
	case p.Time.Before(d.epoch.Time()):
		return 0, failure.Errorf(ErrInvalidID, "sequencer: time %s is before the epoch %v of %q: give a later time",
			p.Time.UTC().Format(time.RFC3339Nano), d.epoch, d.name)
	case !p.Time.Before(d.Exhausted()):
		return 0, failure.Errorf(errors.Join(ErrInvalidID, ErrEpochExhausted),
			"sequencer: time %s is not before %v, the end of %q", p.Time.UTC().Format(time.RFC3339Nano),
			epoch.At(d.Exhausted()), d.name)
	case int(p.Node) >= d.layout.nodes():
		return 0, failure.Errorf(ErrInvalidID, "sequencer: node %d is not a logical node of %q: give 0 to %d",
			p.Node, d.name, d.layout.nodes()-1)
	case int64(p.Counter) >= d.layout.counters():
		return 0, failure.Errorf(ErrInvalidID, "sequencer: counter %d does not fit into a millisecond of %q: give 0 to %d",
			p.Counter, d.name, d.layout.counters()-1)
	}
	return d.layout.compose(d.offset(p.Time), p.Node, p.Counter), nil
}

// MinID returns the smallest possible ID in t's millisecond. Together with
// [Definition.MaxID] it turns a time range into a range of IDs, both ends included:
//
//	WHERE id BETWEEN MinID(from) AND MaxID(to)
//
// A t before the epoch counts as the first millisecond, a t not before [Definition.Exhausted] as
// the last. The result is always an ID, and a time range wholly outside gives the IDs of that one
// millisecond.
func (d Definition) MinID(t time.Time) ID {
	return d.layout.compose(d.nearestOffset(t), 0, 0)
}

// MaxID returns the largest possible ID in t's millisecond. A t outside
// the sequencer's time counts as its first or last millisecond, as in
// [Definition.MinID].
func (d Definition) MaxID(t time.Time) ID {
	return d.layout.compose(d.nearestOffset(t), NodeID(d.layout.nodes()-1), uint32(d.layout.counters()-1))
}

// nearestOffset returns the offset of t, or of the sequencer's first or last millisecond if t is
// outside. It compares times, not numbers, because a time.Time has a larger range than an int64 of
// milliseconds.
func (d Definition) nearestOffset(t time.Time) clustertime.Span {
	switch {
	case t.Before(d.epoch.Time()):
		return 0
	case !t.Before(d.Exhausted()):
		return d.layout.end() - 1
	}
	return d.offset(t)
}

// offset returns the milliseconds from the epoch to t. It is negative for an earlier t, and the
// layout's end or more when the sequencer is exhausted.
func (d Definition) offset(t time.Time) clustertime.Span { return clustertime.TickOf(t).Sub(d.start()) }

func (d Definition) start() clustertime.Tick { return clustertime.Tick(d.epoch.UnixMilli()) }

// CompareTime compares two IDs of this sequencer by their milliseconds alone. It
// returns -1 if a is earlier, 0 if both have the same and +1 if a is later.
// Different IDs can compare as equal.
func (d Definition) CompareTime(a, b ID) int {
	aOffset, _, _ := d.layout.decompose(a)
	bOffset, _, _ := d.layout.decompose(b)
	return cmp.Compare(aOffset, bOffset)
}

// CompareSequence compares two IDs of this sequencer by their milliseconds, then by their counters,
// and ignores the nodes. It returns -1 if a comes first, 0 if neither does and +1 if b comes first.
// IDs of different nodes can compare as equal; as integers, only equal IDs do.
func (d Definition) CompareSequence(a, b ID) int {
	aOffset, _, aCounter := d.layout.decompose(a)
	bOffset, _, bCounter := d.layout.decompose(b)
	return cmp.Or(cmp.Compare(aOffset, bOffset), cmp.Compare(aCounter, bCounter))
}
