package definitions

import (
	"encoding/binary"
	"math"

	"github.com/snowgrid/snowgrid/grid/internal/boltfile"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Values are lists of fields, each a tag, a length and that many bytes. A reader skips unknown
// tags, so that a newer version can add some.

type fields []byte

func (f fields) bytes(tag uint64, b []byte) fields {
	f = binary.AppendUvarint(f, tag)
	f = binary.AppendUvarint(f, uint64(len(b)))
	return append(f, b...)
}

func (f fields) number(tag, n uint64) fields {
	return f.bytes(tag, binary.AppendUvarint(nil, n))
}

func (f fields) tick(tag uint64, t clustertime.Tick) fields {
	return f.bytes(tag, binary.AppendVarint(nil, int64(t)))
}

type field struct {
	tag  uint64
	body []byte
}

func readFields(value []byte, take func(f field) error) error {
	for len(value) > 0 {
		tag, n := binary.Uvarint(value)
		if n <= 0 {
			return boltfile.Damaged("a field's tag is cut off")
		}
		value = value[n:]
		size, n := binary.Uvarint(value)
		if n <= 0 || size > uint64(len(value)-n) {
			return boltfile.Damaged("field %d is cut off", tag)
		}
		body := value[n : n+int(size)]
		value = value[n+int(size):]
		if err := take(field{tag, body}); err != nil {
			return err
		}
	}
	return nil
}

func (f field) number() (uint64, error) {
	v, n := binary.Uvarint(f.body)
	if n <= 0 || n != len(f.body) {
		return 0, boltfile.Damaged("field %d is not a number", f.tag)
	}
	return v, nil
}

// count is number for values that have to fit into an int.
func (f field) count() (int, error) {
	v, err := f.number()
	if err == nil && v > math.MaxInt32 {
		err = boltfile.Damaged("field %d is %d", f.tag, v)
	}
	return int(v), err
}

func (f field) node() (sequencer.NodeID, error) {
	v, err := f.count()
	if err == nil && v > math.MaxUint16 {
		err = boltfile.Damaged("field %d is %d", f.tag, v)
	}
	return sequencer.NodeID(v), err
}

func (f field) tick() (clustertime.Tick, error) {
	v, n := binary.Varint(f.body)
	if n <= 0 || n != len(f.body) {
		return 0, boltfile.Damaged("field %d is not a time", f.tag)
	}
	return clustertime.Tick(v), nil
}

func (f field) fill(dst []byte) error {
	if len(f.body) != len(dst) {
		return boltfile.Damaged("field %d has %d bytes, not %d", f.tag, len(f.body), len(dst))
	}
	copy(dst, f.body)
	return nil
}
