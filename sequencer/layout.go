package sequencer

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
)

// Layout divides the bits of a sequencer's IDs, for IDs that have to match another system's or to
// fit into fewer bits. The zero value is the layout 63/23/8192, and a good choice.
//
//	 Bits-1                     LowBits LowBits-1                        0
//	+----------------------------------+------------+-----------------------+
//	| milliseconds since the epoch     |  node, n   | counter, LowBits - n  |
//	+----------------------------------+------------+-----------------------+
//
// The bits above Bits are 0. n follows from the sequencer's node count, which is at most
// Nodes; the fewer nodes, the more IDs each has in a millisecond: 2^LowBits divided by the node count.
// IDs end 2^(Bits-LowBits)
// milliseconds after the epoch.
//
// A layout does not include the epoch, which has to be given with it:
//
//	sequencer.Config{Layout: sequencer.Twitter(), Epoch: epoch.Twitter}
//
// A layout is part of the definition and never changes. Two sequencers with different
// layouts or epochs can have equal IDs. If a destroyed name is created again with a layout or an epoch
// that could repeat its IDs, the create is refused with ErrConflict; a grid does so for the latest 1,024
// destroyed names of each partition.
type Layout struct {
	// Bits is the maximum number of bits in an ID: 63, or 53 for numbers that JavaScript can
	// represent. At most 63.
	Bits int `json:"bits"`
	// LowBits is the number of bits below the timestamp, for node and counter together: 5 to 24, at
	// least one more than Nodes takes. The timestamp has Bits - LowBits bits: 32 (50 days) to 46
	// (2,229 years).
	LowBits int `json:"low_bits"`
	// Nodes is the largest node count of a sequencer, and its default: a power of two from 16 to
	// 8192.
	Nodes int `json:"nodes"`
}

// Twitter returns the layout of Twitter's IDs, with [epoch.Twitter], and of Discord's, with
// [epoch.Discord]; bwmarrin/snowflake and most other systems called Snowflake have it too. It has 41
// timestamp bits, 10 node bits and 12 counter bits; Discord calls the upper five node bits worker
// and the lower five process. 1,024 nodes with 4,096 IDs per millisecond last for 69.7 years: from
// epoch.Twitter until 2080, from epoch.Discord until 2084, when Discord's own IDs begin to use bit
// 63, and from the Unix epoch until 2039.
func Twitter() Layout { return Layout{Bits: 63, LowBits: 22, Nodes: 1024} }

// JSSafe returns a layout with IDs below 2^53, which JavaScript and JSON numbers represent exactly:
// 41 timestamp bits, 6 node bits and 6 counter bits. 64 nodes with 64 IDs per millisecond last for
// 69.7 years, from the default epoch until 2095.
func JSSafe() Layout { return Layout{Bits: 53, LowBits: 12, Nodes: 64} }

// wholeLayout is the meaning of the zero Layout.
var wholeLayout = Layout{Bits: 63, LowBits: 23, Nodes: 8192}

// Limits for layouts, and for the node counts in one.
const (
	maxBits     = 63 // IDs are positive
	minTimeBits = 32 // 50 days
	maxTimeBits = 46 // 2,229 years: sums with an epoch stay far below 2^63
	maxLowBits  = 24
	maxNodes    = 8192
	// minNodes is the smallest node count of a stated layout, minWholeNodes the smallest of the
	// zero one: fewer would need more counter bits than a fast process can use up.
	minNodes      = 16
	minWholeNodes = 128
)

// orWhole returns l, or the layout that the zero value stands for.
func (l Layout) orWhole() Layout {
	if l == (Layout{}) {
		return wholeLayout
	}
	return l
}

// String returns the layout's numbers: "63/22/1024".
func (l Layout) String() string {
	l = l.orWhole()
	return fmt.Sprintf("%d/%d/%d", l.Bits, l.LowBits, l.Nodes)
}

// ParseLayout reads a layout's text: default, twitter, discord, jssafe, or three numbers as from
// [Layout.String]. [Define] checks the limits. Errors: ErrInvalidConfig.
func ParseLayout(text string) (Layout, error) {
	switch text {
	case "default":
		return Layout{}, nil
	case "twitter", "discord":
		return Twitter(), nil
	case "jssafe":
		return JSSafe(), nil
	}
	parts := strings.Split(text, "/")
	var numbers [3]int
	ok := len(parts) == len(numbers)
	for i := 0; ok && i < len(parts); i++ {
		n, err := strconv.ParseUint(parts[i], 10, 16)
		numbers[i], ok = int(n), err == nil
	}
	if !ok || numbers == [3]int{} {
		return Layout{}, failure.Errorf(ErrInvalidConfig,
			"sequencer: %s is not a layout: give default, twitter, discord, jssafe, or the bits, low bits and nodes as in "+
				"63/22/1024", excerpt(text))
	}
	return Layout{Bits: numbers[0], LowBits: numbers[1], Nodes: numbers[2]}, nil
}

// check returns ErrInvalidConfig for a layout outside the limits.
func (l Layout) check() error {
	refuse := func(format string, args ...any) error {
		return failure.Errorf(ErrInvalidConfig, "sequencer: layout %d/%d/%d: %s", l.Bits, l.LowBits, l.Nodes,
			fmt.Sprintf(format, args...))
	}
	timeBits := l.Bits - l.LowBits
	switch {
	case l.Bits == 0 || l.LowBits == 0 || l.Nodes == 0:
		return refuse("Bits, LowBits and Nodes have to be given together, as in 63/22/1024; leave all of them out for %v",
			wholeLayout)
	case l.Bits < 0 || l.Bits > maxBits:
		return refuse("IDs of %d bits are not possible: give at most %d", l.Bits, maxBits)
	case l.Nodes < minNodes || l.Nodes > maxNodes || l.Nodes&(l.Nodes-1) != 0:
		return refuse("%d nodes are not a power of two from %d to %d: give one, and fewer nodes in Config.Nodes", l.Nodes,
			minNodes, maxNodes)
	case l.LowBits <= bits.Len(uint(l.Nodes-1)) || l.LowBits > maxLowBits:
		return refuse("%d low bits have no room for %d nodes and a counter: give %d to %d", l.LowBits, l.Nodes,
			bits.Len(uint(l.Nodes-1))+1, maxLowBits)
	case timeBits < minTimeBits || timeBits > maxTimeBits:
		return refuse("%d bits of timestamp (Bits - LowBits) are not %d to %d: give other bits", timeBits, minTimeBits,
			maxTimeBits)
	}
	return nil
}

// layout is a Layout for one node count. With n node bits, and 23 low bits:
//
//	nodes              128    256    512   1024  2048  4096  8192
//	node bits, n         7      8      9     10    11    12    13
//	counter bits        16     15     14     13    12    11    10
//	IDs per ms, node 65536  32768  16384   8192  4096  2048  1024
//
// Node bits and counter bits add up to the low bits, and every value of either is in use.
//
// Layouts compare by ==. The zero value is not a layout.
type layout struct {
	bits        uint8 // 37..63
	lowBits     uint8 // 5..24
	mostBits    uint8 // node bits of the largest node count
	nodeBits    uint8 // 4..13
	counterBits uint8 // lowBits - nodeBits; kept because it is needed often
}

// layoutFor returns the layout with room for the given number of nodes, which
// is rounded up to a power of two; 0 stands for the most. It returns
// ErrInvalidConfig for a layout or a number outside the limits.
func layoutFor(l Layout, nodes int) (layout, error) {
	l = l.orWhole()
	if err := l.check(); err != nil {
		return layout{}, err
	}
	least, in := minNodes, " in layout "+l.String()
	if l == wholeLayout {
		least, in = minWholeNodes, ""
	}
	switch {
	case nodes == 0:
		nodes = l.Nodes
	case nodes < least:
		return layout{}, failure.Errorf(ErrInvalidConfig,
			"sequencer: %d nodes are fewer than %d: give %d to %d%s, or 0 for %d", nodes, least, least, l.Nodes, in, l.Nodes)
	case nodes > l.Nodes:
		return layout{}, failure.Errorf(ErrInvalidConfig,
			"sequencer: %d nodes are more than %d: give %d to %d%s, or use several sequencers", nodes, l.Nodes, least,
			l.Nodes, in)
	}
	n := bits.Len(uint(nodes - 1))
	return layout{
		bits: uint8(l.Bits), lowBits: uint8(l.LowBits), mostBits: uint8(bits.Len(uint(l.Nodes - 1))),
		nodeBits: uint8(n), counterBits: uint8(l.LowBits - n),
	}, nil
}

func (l layout) whole() Layout {
	return Layout{Bits: int(l.bits), LowBits: int(l.lowBits), Nodes: 1 << l.mostBits}
}

// end returns the limit of the timestamp, in milliseconds since the epoch: the first value that
// must not occur.
func (l layout) end() clustertime.Span { return 1 << (l.bits - l.lowBits) }

// nodes returns the number of logical nodes; their IDs are 0..nodes-1.
func (l layout) nodes() int { return 1 << l.nodeBits }

// counters returns the number of IDs that a node has in each millisecond; their counters are
// 0..counters-1.
func (l layout) counters() int64 { return 1 << l.counterBits }

// compose builds an ID. The caller guarantees 0 <= offset < end, node <
// nodes and counter < counters; nothing is masked here.
func (l layout) compose(offset clustertime.Span, node NodeID, counter uint32) ID {
	return ID(int64(offset)<<l.lowBits | int64(node)<<l.counterBits | int64(counter))
}

// decompose splits any ID. The offset is read without a sign; it is the end or more for an ID that
// is negative or has more bits than the layout.
func (l layout) decompose(id ID) (offset clustertime.Span, node NodeID, counter uint32) {
	v := uint64(id)
	nodeMask, counterMask := uint64(l.nodes()-1), uint64(l.counters()-1)
	return clustertime.Span(v >> l.lowBits), NodeID(v >> l.counterBits & nodeMask), uint32(v & counterMask)
}

// line is a layout for one logical node, ready to expand slots.
type line struct {
	shift uint8 // node bits
	mask  int64 // of the counter
	node  int64 // in its place
}

// line returns the layout for a node. The caller guarantees node < nodes.
func (l layout) line(node NodeID) line {
	return line{shift: l.nodeBits, mask: l.counters() - 1, node: int64(node) << l.counterBits}
}

// expand builds a node's ID from a slot: offset<<counterBits | counter, which
// numbers all IDs the node can ever have without a gap. The counter's overflow
// is the next millisecond and so cannot reach the node bits. The caller
// guarantees 0 <= slot < end<<counterBits.
//
// Every ID passes through here. The code has no branch and one shift, which moves the offset over
// the node bits; its distance is masked only to let the compiler leave out its own check.
func (l line) expand(slot int64) ID {
	counter := slot & l.mask
	return ID((slot^counter)<<(l.shift&63) | l.node | counter)
}
