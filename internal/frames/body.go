package frames

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
)

// Body is a request's body. The caller sends the part that did not come with the request only when
// it is first read, so that a member decides when to allocate the memory.
type Body struct {
	exchange *exchange

	mu       sync.Mutex // guards the fields below
	have     []byte     // arrived and not read
	left     int64      // bytes that have not arrived
	asked    bool       // for the rest
	deadline time.Time
	arrived  signal.Signal // sent with more data; nil until the rest is requested
}

// SetDeadline bounds the wait in Read; zero means no bound.
func (b *Body) SetDeadline(by time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deadline = by
}

// Read implements io.Reader.
func (b *Body) Read(p []byte) (int, error) {
	for {
		n, ask, by, err := b.take(p)
		if n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
		if ask {
			if err := b.exchange.server.send(b.exchange.Done(), frame.Header{Kind: frame.Continue, Number: b.exchange.number},
				nil, nil, nil); err != nil {
				return 0, err
			}
		}
		if err := b.wait(by); err != nil {
			return 0, err
		}
	}
}

// take reads the available bytes, or reports whether to request more.
func (b *Body) take(p []byte) (n int, ask bool, by time.Time, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n = copy(p, b.have)
	if b.have = b.have[n:]; len(b.have) == 0 {
		b.have = nil
	}
	if n == 0 && b.left == 0 {
		return 0, false, by, io.EOF
	}
	ask = n == 0 && !b.asked
	if ask {
		b.asked, b.arrived = true, signal.New()
	}
	return n, ask, b.deadline, nil
}

func (b *Body) wait(by time.Time) error {
	var late <-chan time.Time
	if !by.IsZero() {
		timer := time.NewTimer(time.Until(by))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-b.arrived:
		return nil
	case <-late:
		return os.ErrDeadlineExceeded
	case <-b.exchange.Done():
		return b.exchange.Err()
	}
}

func (b *Body) add(data []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.asked || int64(len(data)) > b.left {
		return fmt.Errorf("%w: %d bytes beyond the body requested, or the length stated", frame.ErrMalformed, len(data))
	}
	b.left -= int64(len(data))
	b.have = append(b.have, data...)
	b.arrived.Send()
	return nil
}

// Writer writes the answer to a request. Only one goroutine may use it.
type Writer struct {
	exchange *exchange
	status   int // 0 = 200
	begun    bool
	buf      []byte
}

// SetStatus sets the answer's status before the first byte is sent.
func (w *Writer) SetStatus(status int) { w.status = status }

// Write adds to the answer's body.
func (w *Writer) Write(p []byte) (int, error) {
	total := len(p)
	for len(w.buf)+len(p) > frame.Chunk {
		n := frame.Chunk - len(w.buf)
		w.buf, p = append(w.buf, p[:n]...), p[n:]
		if err := w.Flush(); err != nil {
			return 0, err
		}
	}
	w.buf = append(w.buf, p...)
	return total, nil
}

// Flush sends the bytes written so far.
func (w *Writer) Flush() error { return w.emit(0, nil) }

// end sends the answer's last frame, and frees the request's place.
func (w *Writer) end() error {
	return w.emit(frame.Last, func() { w.exchange.server.forget(w.exchange) })
}

// Abort ends the connection: the request has no answer.
func (w *Writer) Abort(err error) { w.exchange.server.end(err) }

// emit sends the bytes written so far.
func (w *Writer) emit(flags uint8, queued func()) error {
	h := frame.Header{Kind: frame.Data, Number: w.exchange.number, Flags: flags}
	var head []byte
	if !w.begun {
		if w.status == 0 {
			w.status = 200
		}
		h.Kind, head = frame.Answer, frame.AppendStatus(make([]byte, 0, 2), w.status)
	}
	w.begun = true
	err := w.exchange.server.send(w.exchange.Done(), h, head, w.buf, queued)
	w.buf = w.buf[:0]
	return err
}
