package history

import (
	"encoding/binary"
	"io"
	"sync"
	"time"
)

// The records of a history. Numbers are varints; at is the time since the record
// before, in nanoseconds.
//
//	name    'N' length bytes                        names count from 0
//	call    'C' at op kind name handle
//	return  'R' at op outcome node+1 runs { first since the last ID, count }...
const (
	recordName   = 'N'
	recordCall   = 'C'
	recordReturn = 'R'
)

// Writer writes a history. All its methods may be called from any number of
// goroutines.
type Writer struct {
	mu    sync.Mutex
	to    io.Writer
	now   func() time.Duration
	names map[string]uint64
	ops   uint64
	at    time.Duration
	last  int64
	buf   []byte
}

// NewWriter returns a writer of a new history, which takes the time from now.
func NewWriter(to io.Writer, now func() time.Duration) *Writer {
	return &Writer{to: to, now: now, names: map[string]uint64{}}
}

// Call notes that an operation begins and returns its number.
func (w *Writer) Call(kind Kind, name string, handle int) (uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = w.buf[:0]
	number, known := w.names[name]
	if !known {
		number = uint64(len(w.names))
		w.names[name] = number
		w.buf = append(w.buf, recordName)
		w.buf = binary.AppendUvarint(w.buf, uint64(len(name)))
		w.buf = append(w.buf, name...)
	}
	op := w.ops
	w.ops++
	w.buf = append(w.buf, recordCall)
	w.stamp()
	w.buf = binary.AppendUvarint(w.buf, op)
	w.buf = append(w.buf, byte(kind))
	w.buf = binary.AppendUvarint(w.buf, number)
	w.buf = binary.AppendUvarint(w.buf, uint64(handle))
	_, err := w.to.Write(w.buf)
	return op, err
}

// Return notes how an operation ended: with which logical node (-1 for none) and
// which IDs.
func (w *Writer) Return(op uint64, outcome Outcome, node int, runs []Run) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = append(w.buf[:0], recordReturn)
	w.stamp()
	w.buf = binary.AppendUvarint(w.buf, op)
	w.buf = append(w.buf, byte(outcome))
	w.buf = binary.AppendUvarint(w.buf, uint64(node+1))
	w.buf = binary.AppendUvarint(w.buf, uint64(len(runs)))
	for _, r := range runs {
		w.buf = binary.AppendVarint(w.buf, r.First-w.last)
		w.buf = binary.AppendUvarint(w.buf, uint64(r.Count))
		w.last = r.Last()
	}
	_, err := w.to.Write(w.buf)
	return err
}

func (w *Writer) stamp() {
	now := w.now()
	w.buf = binary.AppendUvarint(w.buf, uint64(now-w.at))
	w.at = now
}

// AppendRuns appends IDs to runs, in their order.
func AppendRuns(runs []Run, ids ...int64) []Run {
	for _, id := range ids {
		if n := len(runs); n > 0 && id == runs[n-1].Last()+1 {
			runs[n-1].Count++
			continue
		}
		runs = append(runs, Run{First: id, Count: 1})
	}
	return runs
}
