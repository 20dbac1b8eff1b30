package history

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// Read returns the operations of a history in the order of their calls. What a
// killed process wrote half of its last record is left out.
func Read(from io.Reader) ([]Op, error) {
	r := &reader{from: bufio.NewReaderSize(from, 1<<20)}
	for {
		if err := r.record(); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return r.ops, nil
			}
			return r.ops, err
		}
	}
}

// reader reads records. After the first failure, err, every field reads as zero.
type reader struct {
	from  *bufio.Reader
	err   error
	names []string
	ops   []Op
	at    time.Duration
	last  int64
}

func (r *reader) record() error {
	switch tag := r.byte(); {
	case r.err != nil:
	case tag == recordName:
		r.name()
	case tag == recordCall:
		r.call()
	case tag == recordReturn:
		r.answer()
	default:
		r.fail("a record of kind %q", tag)
	}
	return r.err
}

func (r *reader) fail(format string, args ...any) {
	r.err = fmt.Errorf("%w: %s", errFormat, fmt.Sprintf(format, args...))
}

func (r *reader) byte() byte {
	return field(r, r.from.ReadByte)
}

func (r *reader) uint() uint64 {
	return field(r, func() (uint64, error) { return binary.ReadUvarint(r.from) })
}

func (r *reader) int() int64 {
	return field(r, func() (int64, error) { return binary.ReadVarint(r.from) })
}

// field reads one field of a record, if all before it were read.
func field[T any](r *reader, read func() (T, error)) (value T) {
	if r.err == nil {
		value, r.err = read()
	}
	return value
}

func (r *reader) name() {
	n := r.uint()
	if n > 255 {
		r.fail("a name of %d bytes", n)
	}
	if r.err != nil {
		return
	}
	name := make([]byte, n)
	if _, r.err = io.ReadFull(r.from, name); r.err == nil {
		r.names = append(r.names, string(name))
	}
}

func (r *reader) call() {
	at, number, kind, name, handle := r.uint(), r.uint(), r.byte(), r.uint(), r.uint()
	switch {
	case r.err != nil:
		return
	case number != uint64(len(r.ops)) || name >= uint64(len(r.names)):
		r.fail("operation %d of name %d", number, name)
		return
	}
	r.at += time.Duration(at)
	r.ops = append(r.ops, Op{Kind: Kind(kind), Name: r.names[name], Handle: int(handle), Call: r.at, Node: -1})
}

// answer reads a return. It changes nothing before it has all of the record.
func (r *reader) answer() {
	at, number, outcome, node := r.uint(), r.uint(), r.byte(), r.uint()
	runs := r.runs()
	switch {
	case r.err != nil:
		return
	case number >= uint64(len(r.ops)) || r.ops[number].Outcome != 0:
		r.fail("a return of operation %d", number)
		return
	}
	r.at += time.Duration(at)
	op := &r.ops[number]
	op.Return, op.Outcome, op.Node, op.Runs = r.at, Outcome(outcome), int(node)-1, runs
}

func (r *reader) runs() []Run {
	n := r.uint()
	if n > 1<<20 {
		r.fail("%d runs", n)
	}
	if r.err != nil || n == 0 {
		return nil
	}
	runs := make([]Run, 0, n)
	for range n {
		step, count := r.int(), r.uint()
		if r.err != nil {
			return nil
		}
		run := Run{First: r.last + step, Count: int64(count)}
		r.last = run.Last()
		runs = append(runs, run)
	}
	return runs
}
