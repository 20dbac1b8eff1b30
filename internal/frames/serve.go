package frames

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/wire/frame"
)

// Handler serves a request and writes its answer. It runs in a separate goroutine.
type Handler func(w *Writer, r *Request)

// Quick is called first for each request that has arrived as a whole. It reports whether it accepts
// the request; then [Request.Answer] or [Request.Begin] is called once, from any goroutine. It must
// not wait: the next request is not read before it returns.
type Quick func(r *Request) (taken bool)

// Request is a request that arrived.
type Request struct {
	Head frame.Head
	Body *Body
	// Inline contains the body bytes that came with the request. They are valid until Quick
	// returns.
	Inline []byte

	exchange *exchange
}

// Context returns a context that ends when the caller no longer waits, when the connection
// ends, and when the request has been answered. It implements AfterFunc(func()) func() bool.
func (r *Request) Context() context.Context { return &r.exchange.callContext }

// Limit has the context end at a time at the latest.
func (r *Request) Limit(by time.Time) {
	if r.exchange.limit(by) {
		r.exchange.server.late.note(by)
	}
}

// Answer answers a request that [Quick] has taken. It does not wait.
func (r *Request) Answer(status int, body []byte) { r.exchange.answer(status, body) }

// Begin answers a request that [Quick] has taken with a stream, and its first part. Push adds more
// until the context ends: the caller no longer reads, the connection has ended, or End was
// called. It does not wait.
func (r *Request) Begin(status int, part []byte) {
	x := r.exchange
	x.AfterFunc(func() {
		x.server.forget(x)
		x.server.open.Add(-1)
	})
	var head [2]byte
	x.server.force(frame.Header{Kind: frame.Answer, Number: x.number}, frame.AppendStatus(head[:0], status),
		part, nil)
}

// Push adds a part of at most frame.Chunk bytes to the stream opened by Begin. It does not wait: it
// reports false if the connection's queue is full, or the connection has ended.
func (r *Request) Push(part []byte) bool {
	return r.exchange.server.push(frame.Header{Kind: frame.Data, Number: r.exchange.number}, part)
}

// End ends the stream that Begin began.
func (r *Request) End() {
	x := r.exchange
	if x.Err() == nil {
		x.server.force(frame.Header{Kind: frame.Data, Number: x.number, Flags: frame.Last}, nil, nil,
			func() { x.server.forget(x) })
	}
	x.cancel()
}

// Abort ends the connection: the request has no answer.
func (r *Request) Abort(err error) { r.exchange.server.end(err) }

// Server serves the requests on connections.
type Server struct {
	Workers *Workers
	Busy    Refusal // answers requests beyond StreamsMax
	Quick   Quick   // nil: takes none
	Handler Handler
}

// server is the member's end of a connection.
type server struct {
	*link
	Server
	late  expiry
	texts map[string]string // from earlier requests' heads

	mu        sync.Mutex // guards exchanges
	exchanges map[uint32]*exchange
}

// exchange is a request in progress.
type exchange struct {
	server  *server
	number  uint32
	request Request
	body    Body
	callContext
}

// Refusal returns the status and body to answer a request beyond StreamsMax.
type Refusal func() (status int, body []byte)

// Serve serves a connection's requests until it ends, and returns the reason. in reads from the
// connection, after the bytes already read. The requests' contexts have ctx's values and end with
// it.
func (of Server) Serve(ctx context.Context, conn net.Conn, in io.Reader) error {
	s := &server{link: newLink(conn, in, of.Workers.run, true, memberIdle), Server: of, exchanges: map[uint32]*exchange{}}
	s.late.fire = s.expire
	defer s.late.stop()
	defer s.cancelAll()
	defer context.AfterFunc(ctx, func() { s.end(ctx.Err()); s.cancelAll() })()
	for {
		h, payload, err := s.next()
		if err == nil {
			s.beginBatch()
			err = s.arrived(ctx, h, payload)
		}
		if err != nil {
			s.end(err)
			return s.reason()
		}
		if !s.hasFrame() {
			s.endBatch()
		}
	}
}

func (s *server) arrived(ctx context.Context, h frame.Header, payload []byte) error {
	switch h.Kind {
	case frame.Request:
		return s.begin(ctx, h.Number, payload)
	case frame.Data:
		if x := s.exchange(h.Number); x != nil { // else the request has ended
			return x.body.add(payload)
		}
	case frame.Cancel:
		if x := s.exchange(h.Number); x != nil {
			x.cancel()
		}
	case frame.Ping:
		return s.send(nil, frame.Header{Kind: frame.Pong}, nil, nil, nil)
	case frame.Pong:
	default:
		return fmt.Errorf("%w: kind %d from a caller", frame.ErrMalformed, h.Kind)
	}
	return nil
}

func (s *server) begin(ctx context.Context, number uint32, payload []byte) error {
	head, inline, err := frame.ParseHead(payload, s.text)
	if err != nil {
		return err
	}
	s.awaitRoom() // Quick's answers do not wait for it
	s.begun.Add(1)
	x := &exchange{server: s, number: number}
	x.values = ctx
	x.request = Request{Head: head, Body: &x.body, Inline: inline, exchange: x}
	x.body = Body{exchange: x, have: inline, left: int64(head.Length) - int64(len(inline))}
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
		w.status, w.buf = s.Busy()
		return w.end()
	}
	s.open.Add(1)
	if x.body.left == 0 && s.Quick != nil && s.Quick(&x.request) {
		return nil
	}
	x.body.have, x.request.Inline = bytes.Clone(inline), nil
	s.Workers.run(x.serve)
	return nil
}

// textsMax is the number of head texts that a connection keeps: paths, and the addresses in calls
// between members.
const textsMax = 16

// text returns a head's text, the same string for each request that contains it.
func (s *server) text(b []byte) string {
	if known, found := s.texts[string(b)]; found {
		return known
	}
	text := string(b)
	if s.texts == nil {
		s.texts = map[string]string{}
	}
	if len(s.texts) < textsMax {
		s.texts[text] = text
	}
	return text
}

func (x *exchange) cancel() { x.end(context.Canceled) }

// cancelAll ends the contexts of all requests.
func (s *server) cancelAll() {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.exchanges))
	s.mu.Unlock()
	for _, x := range all {
		x.cancel()
	}
}

// expire ends contexts with a past deadline, and returns the first deadline among the others.
func (s *server) expire(now time.Time) (next time.Time) {
	s.mu.Lock()
	var over []*exchange
	for _, x := range s.exchanges {
		switch by, bounded := x.Deadline(); {
		case !bounded:
		case !now.Before(by):
			over = append(over, x)
		case next.IsZero() || by.Before(next):
			next = by
		}
	}
	s.mu.Unlock()
	for _, x := range over {
		x.end(context.DeadlineExceeded)
	}
	return next
}

// answer has the answer to a request written, and frees its place.
func (x *exchange) answer(status int, body []byte) {
	var head [2]byte
	first := body[:min(len(body), frame.Chunk)]
	h := frame.Header{Kind: frame.Answer, Number: x.number}
	if len(first) == len(body) {
		h.Flags = frame.Last
	}
	s := x.server
	if h.Flags != frame.Last { // few are so long
		rest := bytes.Clone(body)
		s.Workers.run(func() {
			w := &Writer{exchange: x, status: status}
			_, _ = w.Write(rest)
			_ = w.end() // the connection may have ended
			s.open.Add(-1)
			x.cancel()
		})
		return
	}
	s.force(h, frame.AppendStatus(head[:0], status), first, func() { s.forget(x) })
	s.open.Add(-1)
	x.cancel()
}

// serve serves a request. Its place is free when the answer is in the queue: the caller that
// reads the answer may begin another, and answers that wait for a caller that reads nothing are
// not more than there are places.
func (x *exchange) serve() {
	defer x.cancel()
	s := x.server
	defer s.open.Add(-1)
	defer s.forget(x)
	w := &Writer{exchange: x}
	s.Handler(w, &x.request)
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

// Workers run request handlers, and keep some goroutines for the next requests. Its zero value is
// ready.
type Workers struct {
	once   sync.Once
	parked chan func()
	done   chan struct{}

	mu   sync.Mutex
	idle int
	end  bool
}

// parkedMax is the number of goroutines kept.
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
