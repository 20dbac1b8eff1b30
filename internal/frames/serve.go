package frames

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/snowgrid/snowgrid/wire/frame"
)

// Handler serves a request and writes its answer.
type Handler func(w *Writer, r *Request)

// Request is a request that arrived.
type Request struct {
	Head frame.Head
	Body *Body
	ctx  context.Context
}

// Context returns a context that ends when the caller no longer waits, when the connection
// ends, and when the handler returns.
func (r *Request) Context() context.Context { return r.ctx }

// server is the member's end of a connection.
type server struct {
	*link
	workers *Workers
	handler Handler
	busy    Refusal

	mu        sync.Mutex // guards exchanges
	exchanges map[uint32]*exchange
}

// exchange is a request in progress.
type exchange struct {
	server *server
	number uint32
	cancel context.CancelFunc
	body   Body
}

// Refusal returns the status and the body of the answer to a request beyond StreamsMax.
type Refusal func() (status int, body []byte)

// Serve serves the requests of a connection until it ends, and returns why. in reads from the
// connection, after what was read already. Contexts of requests are of ctx.
func Serve(ctx context.Context, conn net.Conn, in io.Reader, workers *Workers, busy Refusal, handler Handler) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{link: newLink(conn, in, true, memberIdle), workers: workers, handler: handler, busy: busy, exchanges: map[uint32]*exchange{}}
	defer context.AfterFunc(ctx, func() { s.end(ctx.Err()) })()
	for {
		h, payload, err := s.next()
		if err == nil {
			err = s.arrived(ctx, h, payload)
		}
		if err != nil {
			s.end(err)
			return s.reason()
		}
	}
}

func (s *server) arrived(ctx context.Context, h frame.Header, payload []byte) error {
	switch h.Kind {
	case frame.Request:
		return s.begin(ctx, h.Number, payload)
	case frame.Data:
		return s.more(h.Number, payload)
	case frame.Cancel:
		if x := s.exchange(h.Number); x != nil {
			x.cancel()
		}
	case frame.Ping:
		return s.send(nil, frame.Header{Kind: frame.Pong}, nil, nil)
	case frame.Pong:
	default:
		return fmt.Errorf("%w: kind %d of a caller", frame.ErrMalformed, h.Kind)
	}
	return nil
}

// begin has a request served.
func (s *server) begin(ctx context.Context, number uint32, payload []byte) error {
	head, inline, err := frame.ParseHead(payload)
	if err != nil {
		return err
	}
	s.begun.Add(1)
	x := &exchange{server: s, number: number}
	x.body = Body{exchange: x, have: inline, left: int64(head.Length) - int64(len(inline)), arrived: make(chan struct{}, 1)}
	s.mu.Lock()
	_, used := s.exchanges[number]
	full := len(s.exchanges) >= StreamsMax
	if !used && !full {
		s.exchanges[number] = x
	}
	s.mu.Unlock()
	if used {
		return fmt.Errorf("%w: number %d is in use", frame.ErrMalformed, number)
	}
	if full {
		w := Writer{exchange: x}
		w.status, w.buf = s.busy()
		return w.end()
	}
	s.open.Add(1)
	ctx, x.cancel = context.WithCancel(ctx)
	x.body.ctx = ctx
	s.workers.run(func() { x.serve(&Request{Head: head, Body: &x.body, ctx: ctx}) })
	return nil
}

// serve serves a request. Its place is free when the answer is in the queue: the caller that
// reads the answer may begin another, and answers that wait for a caller that reads nothing are
// not more than there are places.
func (x *exchange) serve(r *Request) {
	defer x.cancel()
	s := x.server
	defer s.open.Add(-1)
	defer s.forget(x)
	w := &Writer{exchange: x}
	s.handler(w, r)
	_ = w.end() // the connection may have ended
}

func (s *server) forget(x *exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.exchanges[x.number] == x { // else it was refused, or its number has another request
		delete(s.exchanges, x.number)
	}
}

func (s *server) exchange(number uint32) *exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.exchanges[number]
}

// more adds to a body. Data of a request that has ended is dropped.
func (s *server) more(number uint32, data []byte) error {
	x := s.exchange(number)
	if x == nil {
		return nil
	}
	return x.body.add(data)
}

// Workers run the handlers of requests, and keep some of their goroutines for the next ones.
// Its zero value is ready.
type Workers struct {
	once   sync.Once
	parked chan func()
	done   chan struct{}

	mu   sync.Mutex
	idle int
	end  bool
}

// parkedMax is how many goroutines are kept.
const parkedMax = 64

func (w *Workers) start() {
	w.once.Do(func() { w.parked, w.done = make(chan func()), make(chan struct{}) })
}

// Close ends the parked goroutines. The others end with their requests.
func (w *Workers) Close() {
	w.start()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.end {
		w.end = true
		close(w.done)
	}
}

// run runs f in a goroutine.
func (w *Workers) run(f func()) {
	w.start()
	select {
	case w.parked <- f:
	default:
		go w.work(f)
	}
}

func (w *Workers) work(f func()) {
	for f(); w.park(1); f() {
		select {
		case f = <-w.parked:
			w.park(-1)
		case <-w.done:
			return
		}
	}
}

// park counts a parked goroutine, and reports whether there is a place for it.
func (w *Workers) park(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n > 0 && (w.end || w.idle == parkedMax) {
		return false
	}
	w.idle += n
	return true
}
