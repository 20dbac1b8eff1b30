package definitions

import (
	"encoding/binary"
	"hash/fnv"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/grid/internal/boltfile"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// A record's fields. Its key is its name.
const (
	tagEpoch  = 1 // Unix milliseconds
	tagNodes  = 2
	tagLife   = 3 // 16 bytes
	tagTerm   = 4 // the create's
	tagNumber = 5 // the create's
	tagMark   = 6 // destroyed: the next life's first tick; absent before the life's end
	// The layout: all three, or none for the zero one.
	tagBits     = 7
	tagLowBits  = 8
	tagMaxNodes = 9
	// The node range: both, or none for all nodes.
	tagLowNode  = 10
	tagHighNode = 11
)

// recordMax is a stored record's maximum size; a larger one is damaged.
const recordMax = 4096

func encodeRecord(r Record) []byte {
	f := make(fields, 0, 64)
	cfg := attachment.ShortConfig(r.Ref.Definition)
	f = f.tick(tagEpoch, clustertime.Tick(cfg.Epoch.UnixMilli()))
	f = f.number(tagNodes, uint64(cfg.Nodes))
	if l := cfg.Layout; l != (sequencer.Layout{}) {
		f = f.number(tagBits, uint64(l.Bits))
		f = f.number(tagLowBits, uint64(l.LowBits))
		f = f.number(tagMaxNodes, uint64(l.Nodes))
	}
	if nodes := cfg.NodeRange; nodes != (sequencer.NodeRange{}) {
		f = f.number(tagLowNode, uint64(nodes.Lo))
		f = f.number(tagHighNode, uint64(nodes.Hi))
	}
	f = f.bytes(tagLife, r.Ref.Life[:])
	f = f.number(tagTerm, r.Ref.Born.Term)
	f = f.number(tagNumber, r.Ref.Born.Number)
	if r.Destroyed {
		f = f.tick(tagMark, r.Mark)
	}
	return f
}

func decodeRecord(name, value []byte) (r Record, err error) {
	if len(value) > recordMax {
		return r, boltfile.Damaged("the record of %.80q has %d bytes", name, len(value))
	}
	var start clustertime.Tick
	var cfg sequencer.Config
	err = readFields(value, func(f field) (err error) {
		switch f.tag {
		case tagEpoch:
			start, err = f.tick()
		case tagNodes:
			cfg.Nodes, err = f.count()
		case tagBits:
			cfg.Layout.Bits, err = f.count()
		case tagLowBits:
			cfg.Layout.LowBits, err = f.count()
		case tagMaxNodes:
			cfg.Layout.Nodes, err = f.count()
		case tagLowNode:
			cfg.NodeRange.Lo, err = f.node()
		case tagHighNode:
			cfg.NodeRange.Hi, err = f.node()
		case tagLife:
			err = f.fill(r.Ref.Life[:])
		case tagTerm:
			r.Ref.Born.Term, err = f.number()
		case tagNumber:
			r.Ref.Born.Number, err = f.number()
		case tagMark:
			r.Destroyed = true
			r.Mark, err = f.tick()
		}
		return err
	})
	if err == nil && (r.Ref.Life.IsZero() || cfg.Nodes == 0) {
		err = boltfile.Damaged("the record of %.80q lacks its life or its nodes", name)
	}
	if err == nil {
		cfg.Epoch = epoch.UnixMilli(int64(start))
		r.Ref.Definition, err = sequencer.Define(string(name), cfg)
	}
	if err != nil {
		return Record{}, boltfile.Damaged("the record of %.80q: %v", name, err)
	}
	return r, nil
}

// digest returns one record's contribution to its partition's sum, in any order.
func digest(name, value []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(name)
	_, _ = h.Write([]byte{0}) // no name contains it
	_, _ = h.Write(value)
	return h.Sum64()
}

// A partition head's fields.
const (
	tagAtTerm   = 1 // position
	tagAtNumber = 2
	tagBase     = 3
	tagCount    = 4 // records
	tagSum      = 5 // sum over the records' digests
)

// head is stored per partition, besides its records. Count and sum detect a record that was
// lost, or that returned.
type head struct {
	Position
	base  clustertime.Tick
	count uint64
	sum   uint64
}

// encode returns a partition head's value: its fields, and a digest over them and the partition's
// key.
func (h head) encode(key []byte) []byte {
	f := make(fields, 0, 56)
	f = f.number(tagAtTerm, uint64(h.Term))
	f = f.number(tagAtNumber, h.Number)
	f = f.tick(tagBase, h.base)
	f = f.number(tagCount, h.count)
	f = f.number(tagSum, h.sum)
	return binary.BigEndian.AppendUint64(f, digest(key, f))
}

func decodeHead(key, value []byte) (h head, err error) {
	end := len(value) - 8
	if end < 0 || binary.BigEndian.Uint64(value[end:]) != digest(key, value[:end]) {
		return h, boltfile.Damaged("its head is another than was stored")
	}
	err = readFields(value[:end], func(f field) (err error) {
		var n uint64
		switch f.tag {
		case tagAtTerm:
			n, err = f.number()
			h.Term = roster.Term(n)
		case tagAtNumber:
			h.Number, err = f.number()
		case tagBase:
			h.base, err = f.tick()
		case tagCount:
			h.count, err = f.number()
		case tagSum:
			h.sum, err = f.number()
		}
		return err
	})
	return h, err
}

func (h *head) add(name, value []byte) {
	h.count++
	h.sum += digest(name, value)
}

func (h *head) remove(name, value []byte) {
	h.count--
	h.sum -= digest(name, value)
}
