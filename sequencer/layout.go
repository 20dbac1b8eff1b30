package sequencer

import (
	"math/bits"

	"github.com/snowgrid/snowgrid/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
)

// The node counts a sequencer can have. Fewer nodes would need more counter
// bits than a fast process can use up, more would leave too few.
const (
	minNodes = 128
	maxNodes = 8192
)

const (
	// timeShift is where the timestamp begins, whatever the node count: IDs of
	// all sequencers with one epoch sort by time among each other.
	timeShift = 23

	// maxOffset is the limit of the timestamp, in milliseconds since the epoch; it
	// is itself the first value that must not occur. It is half the range of 41
	// bits, so that IDs stay positive.
	maxOffset clustertime.Span = 1 << 40
)

// layout is how the bits of an ID are divided. With n node bits:
//
//	 63                               23 22      23-n 22-n          0
//	+-----------------------------------+------------+--------------+
//	|  milliseconds since the epoch, 41 |  node, n   | counter, 23-n |
//	+-----------------------------------+------------+--------------+
//
// The highest bit is 0, because timestamps end at [maxOffset]. Node bits and
// counter bits add up to 23, and every value of either is in use:
//
//	nodes              128    256    512   1024  2048  4096  8192
//	node bits, n         7      8      9     10    11    12    13
//	counter bits        16     15     14     13    12    11    10
//	IDs per ms, node 65536  32768  16384   8192  4096  2048  1024
//
// Layouts compare by ==. The zero value is not a layout.
type layout struct {
	nodeBits    uint8 // 7..13
	counterBits uint8 // 23 - nodeBits; kept because the generator needs it for every ID
}

// layoutFor returns the layout with room for the given number of nodes, which
// is rounded up to a power of two; 0 stands for maxNodes. It returns
// ErrInvalidConfig for a number outside minNodes..maxNodes.
func layoutFor(nodes int) (layout, error) {
	switch {
	case nodes == 0:
		nodes = maxNodes
	case nodes < minNodes:
		return layout{}, failure.Errorf(ErrInvalidConfig, "sequencer: %d nodes are fewer than %d: give %d to %d, or 0 for %d", nodes, minNodes, minNodes, maxNodes, maxNodes)
	case nodes > maxNodes:
		return layout{}, failure.Errorf(ErrInvalidConfig, "sequencer: %d nodes are more than %d: give %d to %d, or use several sequencers", nodes, maxNodes, minNodes, maxNodes)
	}
	n := bits.Len(uint(nodes - 1))
	return layout{nodeBits: uint8(n), counterBits: uint8(timeShift - n)}, nil
}

// nodes returns the number of logical nodes; their IDs are 0..nodes-1.
func (l layout) nodes() int { return 1 << l.nodeBits }

// counters returns how many IDs a node has in each millisecond; their counters
// are 0..counters-1.
func (l layout) counters() int64 { return 1 << l.counterBits }

// compose builds an ID. The caller guarantees 0 <= offset < maxOffset, node <
// nodes and counter < counters; nothing is masked here.
func (l layout) compose(offset clustertime.Span, node NodeID, counter uint32) ID {
	return ID(int64(offset)<<timeShift | int64(node)<<l.counterBits | int64(counter))
}

// decompose takes any ID apart. The offset is read without a sign: it is below
// maxOffset for every ID that is not negative, and below 2*maxOffset for the
// others.
func (l layout) decompose(id ID) (offset clustertime.Span, node NodeID, counter uint32) {
	v := uint64(id)
	nodeMask, counterMask := uint64(l.nodes()-1), uint64(l.counters()-1)
	return clustertime.Span(v >> timeShift), NodeID(v >> l.counterBits & nodeMask), uint32(v & counterMask)
}

// line is a layout for one logical node, ready to expand slots.
type line struct {
	shift uint8 // counter bits
	mask  int64 // of the counter
	node  int64 // in its place
}

// line returns the layout for a node. The caller guarantees node < nodes.
func (l layout) line(node NodeID) line {
	return line{shift: l.counterBits, mask: l.counters() - 1, node: int64(node) << l.counterBits}
}

// expand builds a node's ID from a slot: offset<<counterBits | counter, which
// numbers all IDs the node can ever have without a gap. The counter's overflow
// is the next millisecond and so cannot reach the node bits. The caller
// guarantees 0 <= slot < maxOffset<<counterBits.
//
// Every ID passes through here: the code has no branch, and the shift distance is
// masked only to let the compiler leave out its own check.
func (l line) expand(slot int64) ID {
	return ID(slot>>(l.shift&63)<<timeShift | l.node | slot&l.mask)
}
