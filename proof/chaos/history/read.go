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

type reader struct {
	from  *bufio.Reader
	names []string
	ops   []Op
	at    time.Duration
	last  int64
}

func (r *reader) record() error {
	tag, err := r.from.ReadByte()
	if err != nil {
		return err
	}
	switch tag {
	case recordName:
		return r.name()
	case recordCall:
		return r.call()
	case recordReturn:
		return r.answer()
	}
	return fmt.Errorf("%w: a record of kind %q", errFormat, tag)
}

func (r *reader) name() error {
	n, err := binary.ReadUvarint(r.from)
	if err != nil {
		return err
	}
	if n > 255 {
		return fmt.Errorf("%w: a name of %d bytes", errFormat, n)
	}
	name := make([]byte, n)
	if _, err := io.ReadFull(r.from, name); err != nil {
		return err
	}
	r.names = append(r.names, string(name))
	return nil
}

func (r *reader) call() error {
	at, err := binary.ReadUvarint(r.from)
	if err != nil {
		return err
	}
	number, err := binary.ReadUvarint(r.from)
	if err != nil {
		return err
	}
	kind, err := r.from.ReadByte()
	if err != nil {
		return err
	}
	name, err := binary.ReadUvarint(r.from)
	if err != nil {
		return err
	}
	handle, err := binary.ReadUvarint(r.from)
	if err != nil {
		return err
	}
	if number != uint64(len(r.ops)) || name >= uint64(len(r.names)) {
		return fmt.Errorf("%w: operation %d of name %d", errFormat, number, name)
	}
	r.at += time.Duration(at)
	r.ops = append(r.ops, Op{Kind: Kind(kind), Name: r.names[name], Handle: int(handle), Call: r.at, Node: -1})
	return nil
}

// answer reads a return. It changes nothing before it has all of the record.
func (r *reader) answer() error {
	at, err := binary.ReadUvarint(r.from)
	if err != nil {
		return err
	}
	number, err := binary.ReadUvarint(r.from)
	if err != nil {
		return err
	}
	outcome, err := r.from.ReadByte()
	if err != nil {
		return err
	}
	node, err := binary.ReadUvarint(r.from)
	if err != nil {
		return err
	}
	runs, err := r.runs()
	if err != nil {
		return err
	}
	if number >= uint64(len(r.ops)) || r.ops[number].Outcome != 0 {
		return fmt.Errorf("%w: a return of operation %d", errFormat, number)
	}
	r.at += time.Duration(at)
	op := &r.ops[number]
	op.Return, op.Outcome, op.Node, op.Runs = r.at, Outcome(outcome), int(node)-1, runs
	return nil
}

func (r *reader) runs() ([]Run, error) {
	n, err := binary.ReadUvarint(r.from)
	if err != nil || n == 0 {
		return nil, err
	}
	if n > 1<<20 {
		return nil, fmt.Errorf("%w: %d runs", errFormat, n)
	}
	runs := make([]Run, 0, n)
	for range n {
		step, err := binary.ReadVarint(r.from)
		if err != nil {
			return nil, err
		}
		count, err := binary.ReadUvarint(r.from)
		if err != nil {
			return nil, err
		}
		run := Run{First: r.last + step, Count: int64(count)}
		r.last = run.Last()
		runs = append(runs, run)
	}
	return runs, nil
}
