package frames

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
)

// ends are both ends of a connection in memory.
type ends struct {
	client *Client
	raw    net.Conn // of the caller
	ended  chan error
}

// serving returns the ends of a connection whose requests are served by a handler. With bare
// the caller's end is only the raw connection.
func serving(t *testing.T, bare bool, handler Handler) *ends {
	near, far := net.Pipe()
	e := &ends{raw: near, ended: make(chan error, 1)}
	workers := &Workers{}
	busy := func() (int, []byte) { return 503, []byte("busy") }
	go func() {
		e.ended <- Server{Workers: workers, Busy: busy, Handler: handler}.Serve(context.Background(), far,
			bufio.NewReader(far))
	}()
	if !bare {
		e.client = NewClient(near, bufio.NewReader(near), nil)
	}
	t.Cleanup(func() { _ = near.Close(); workers.Close() })
	return e
}

// echo answers with the body.
func echo(w *Writer, r *Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.SetStatus(400)
	}
	_, _ = w.Write(body)
}

func TestCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := serving(t, false, func(w *Writer, r *Request) {
			w.SetStatus(207)
			echo(w, r)
		})
		var all sync.WaitGroup
		for _, n := range []int{0, 1, frame.Inline, frame.Inline + 1, frame.Chunk, 3*frame.Chunk + 5, wire.MaxBody} {
			all.Go(func() {
				body := bytes.Repeat([]byte{byte(n)}, n)
				status, answer, err := e.client.Do(t.Context(), frame.Head{Path: "/x"}, body)
				if err != nil || status != 207 || !bytes.Equal(answer, body) {
					t.Errorf("a body of %d bytes: status %d, %d bytes, %v", n, status, len(answer), err)
				}
			})
		}
		all.Wait()
	})
}

// TestSlowCallDelaysNoOther: calls are answered while StreamsMax-1 others wait, and one more
// is refused.
func TestSlowCallDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		e := serving(t, false, func(w *Writer, r *Request) {
			if r.Head.Path == "/slow" {
				<-release
			}
			echo(w, r)
		})
		slow := func(want int) {
			if status, _, err := e.client.Do(t.Context(), frame.Head{Path: "/slow"}, nil); err != nil || status != want {
				t.Errorf("status %d, %v; want %d", status, err, want)
			}
		}
		for range StreamsMax - 1 {
			go slow(200)
		}
		synctest.Wait()
		if status, answer, err := e.client.Do(t.Context(), frame.Head{Path: "/fast"}, []byte("a")); err != nil ||
			status != 200 || string(answer) != "a" {
			t.Errorf("status %d, %q, %v", status, answer, err)
		}
		go slow(200)
		synctest.Wait()
		slow(503)
		close(release)
		synctest.Wait()
		slow(200)
	})
}

// TestCancel: the handler of a call that was given up hears of it, and the connection lives.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard atomic.Bool
		e := serving(t, false, func(w *Writer, r *Request) {
			if r.Head.Path == "/slow" {
				<-r.Context().Done()
				heard.Store(true)
			}
			echo(w, r)
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := e.client.Do(ctx, frame.Head{Path: "/slow"}, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the call ended with %v", err)
		}
		synctest.Wait()
		if !heard.Load() {
			t.Error("the handler continues")
		}
		if _, answer, err := e.client.Do(t.Context(), frame.Head{}, []byte("a")); err != nil || string(answer) != "a" {
			t.Errorf("%q, %v", answer, err)
		}
	})
}

// TestAnswerBeforeTheEnd: a call whose answer arrived before its context ended returns the answer, which may have a
// logical node.
func TestAnswerBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := serving(t, false, echo)
		for range 100 {
			ctx, cancel := context.WithCancel(t.Context())
			call, err := e.client.begin(ctx, frame.Head{}, []byte("a"), true)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			cancel()
			if err := call.exchange(ctx, nil); err != nil || string(call.have) != "a" {
				t.Fatalf("%q, %v", call.have, err)
			}
			call.forget()
		}
	})
}

// TestStream: parts of a stream arrive when they are flushed, and closing it ends the handler.
func TestStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		e := serving(t, false, func(w *Writer, r *Request) {
			for i := range 2 {
				_, _ = fmt.Fprintf(w, "part %d\n", i)
				_ = w.Flush()
				time.Sleep(2 * silentPeriods * period) // a silent connection lives by pings alone
			}
			<-r.Context().Done()
			close(ended)
		})
		d := &delivery{}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		status, _, err := e.client.Open(ctx, frame.Head{}, nil, d.part, d.end)
		if err != nil || status != 200 {
			t.Fatal(status, err)
		}
		if got := d.seen(); got != "part 0\n 0" {
			t.Errorf("at first: %q", got)
		}
		time.Sleep(2 * silentPeriods * period)
		if got := d.seen(); got != "part 0\npart 1\n 0" {
			t.Errorf("later: %q", got)
		}
		cancel()
		<-ended
		if got := d.seen(); got != "part 0\npart 1\n 1" {
			t.Errorf("at the end: %q", got)
		}
	})
}

// TestIdleConnectionsEnd, and calls on them say that they were not sent.
func TestIdleConnectionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := serving(t, false, echo)
		if _, _, err := e.client.Do(t.Context(), frame.Head{}, nil); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		<-e.client.Done()
		if took := time.Since(began); took > (callerIdle+1)*period {
			t.Errorf("it ended after %v", took)
		}
		<-e.ended
		if _, _, err := e.client.Do(t.Context(), frame.Head{}, nil); !errors.Is(err, ErrNotSent) ||
			!errors.Is(err, ErrEnded) {
			t.Errorf("a call ends with %v", err)
		}
	})
}

// request returns the frame of a request.
func request(number uint32, length int, inline string) []byte {
	head, _ := frame.AppendHead(nil, frame.Head{Path: "/x", Length: uint32(length)})
	head = append(head, inline...)
	return append(frame.AppendHeader(nil, frame.Header{Length: uint32(len(head)), Number: number, Kind: frame.Request}),
		head...)
}

// TestHostileCallers: each ends with the connection, in bounded time.
func TestHostileCallers(t *testing.T) {
	header := func(h frame.Header) []byte { return frame.AppendHeader(nil, h) }
	data := func(n uint32, b string) []byte {
		return append(header(frame.Header{Length: uint32(len(b)), Number: n, Kind: frame.Data}), b...)
	}
	half := request(1, 10, "")
	for name, c := range map[string]struct {
		sends []byte
		slow  bool // a byte a second
		least time.Duration
		most  time.Duration
	}{
		"garbage":        {sends: []byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n")},
		"half a header":  {sends: half[:5], most: (stuckPeriods + 1) * period},
		"half a request": {sends: request(1, 3, "abc")[:20], most: (stuckPeriods + 1) * period},
		"a byte a second": {sends: bytes.Repeat(request(1, 4000, strings.Repeat("x", 4000)), 2), slow: true,
			most: (stuckPeriods + 1) * period},
		"silence": {most: (memberIdle + 1) * period},
		"data for no request": {sends: append(request(1, 5000, strings.Repeat("x", frame.Inline)),
			data(1, "not asked for")...)},
		"a number in use": {sends: append(request(1, 0, ""), request(1, 0, "")...)},
		"an answer":       {sends: append(header(frame.Header{Length: 2, Number: 1, Kind: frame.Answer}), 0, 200)},
		"a silent caller": {sends: request(1, 0, ""), least: period, most: (silentPeriods + 1) * period},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := serving(t, true, func(_ *Writer, r *Request) { <-r.Context().Done() })
				began := time.Now()
				go func() { _, _ = io.Copy(io.Discard, e.raw) }()
				sent := make(chan struct{})
				go func() {
					defer close(sent)
					if !c.slow {
						_, _ = e.raw.Write(c.sends)
						return
					}
					for i := range c.sends {
						if _, err := e.raw.Write(c.sends[i : i+1]); err != nil {
							return
						}
						time.Sleep(time.Second)
					}
				}()
				var err error
				select {
				case err = <-e.ended:
				case <-time.After(time.Hour):
					_ = e.raw.Close()
				}
				if took := time.Since(began); took > c.most || took < c.least {
					t.Errorf("it ended after %v: %v", took, err)
				}
				_ = e.raw.Close()
				<-sent
			})
		})
	}
}

// TestCallerThatReadsNothing: the member reads nothing more from it, and ends the connection.
func TestCallerThatReadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := serving(t, true, echo)
		var sent atomic.Int64
		go func() {
			for i := uint32(1); ; i++ {
				n, err := e.raw.Write(append(request(i, 1000, strings.Repeat("x", 1000)),
					frame.AppendHeader(nil, frame.Header{Kind: frame.Ping})...))
				if sent.Add(int64(n)); err != nil {
					return
				}
			}
		}()
		began := time.Now()
		<-e.ended
		if took := time.Since(began); took > (stuckPeriods+2)*period {
			t.Errorf("it ended after %v", took)
		}
		if most := int64(4 * queueMax); sent.Load() > most {
			t.Errorf("the member took %d bytes, more than %d", sent.Load(), most)
		}
	})
}

// TestAnswersThatAreNotRead: their handlers wait before much of them is in memory.
func TestAnswersThatAreNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wrote atomic.Int64
		e := serving(t, true, func(w *Writer, _ *Request) {
			for range 1000 {
				n, err := w.Write(make([]byte, 1000))
				if err == nil {
					err = w.Flush()
				}
				if err != nil {
					return
				}
				wrote.Add(int64(n))
			}
		})
		_, _ = e.raw.Write(request(1, 0, "")) // the handler of this one writes to the connection
		_, _ = e.raw.Write(request(2, 0, ""))
		<-e.ended
		if n := wrote.Load(); n > 2*queueMax {
			t.Errorf("%d bytes were written to a caller that reads nothing", n)
		}
	})
}

// TestPingOfMember: it is answered.
func TestPingOfMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		c := NewClient(near, bufio.NewReader(near), nil)
		defer c.Close()
		_ = far.SetDeadline(time.Now().Add(time.Second))
		_, _ = far.Write(frame.AppendHeader(nil, frame.Header{Kind: frame.Ping}))
		answer := make([]byte, frame.HeaderSize)
		if _, err := io.ReadFull(far, answer); err != nil {
			t.Fatal(err)
		}
		if h, err := frame.ParseHeader(answer); err != nil || h.Kind != frame.Pong {
			t.Errorf("the answer is %+v, %v", h, err)
		}
	})
}

// TestBodyThatDoesNotCome: the handler bounds its wait.
func TestBodyThatDoesNotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := make(chan error, 1)
		e := serving(t, true, func(_ *Writer, r *Request) {
			r.Body.SetDeadline(time.Now().Add(time.Second))
			_, err := io.ReadAll(r.Body)
			failed <- err
		})
		go func() { _, _ = io.Copy(io.Discard, e.raw) }()
		_, _ = e.raw.Write(request(1, 5000, strings.Repeat("x", frame.Inline)))
		if err := <-failed; err == nil {
			t.Error("a body that did not arrive was read")
		}
		_ = e.raw.Close()
		<-e.ended
	})
}

// TestHostileMembers: a member that answers out of order, or with too much, ends its calls with
// an error.
func TestHostileMembers(t *testing.T) {
	answer := func(kind frame.Kind, flags uint8, b []byte) []byte {
		return append(frame.AppendHeader(nil, frame.Header{Length: uint32(len(b)), Number: 1, Kind: kind, Flags: flags}),
			b...)
	}
	part := bytes.Repeat([]byte("x"), frame.Chunk)
	for name, sends := range map[string][]byte{
		"data first":  answer(frame.Data, frame.Last, []byte{0, 200, 'x'}),
		"no status":   answer(frame.Answer, 0, nil),
		"two answers": append(answer(frame.Answer, 0, []byte{0, 200}), answer(frame.Answer, frame.Last, []byte{0, 200})...),
		"a request":   request(1, 0, ""),
		"without end": append(answer(frame.Answer, 0, []byte{0, 200}),
			bytes.Repeat(answer(frame.Data, 0, part), wire.MaxBody/frame.Chunk+1)...),
		"garbage":       []byte("HTTP/1.1 400 Bad Request\r\n"),
		"half and ends": answer(frame.Answer, 0, []byte{0, 200})[:5],
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := net.Pipe()
				c := NewClient(near, bufio.NewReader(near), nil)
				go func() { _, _ = io.Copy(io.Discard, far) }()
				go func() {
					time.Sleep(time.Second)
					_, _ = far.Write(sends)
					time.Sleep(time.Second)
					_ = far.Close()
				}()
				_, got, err := c.Do(t.Context(), frame.Head{}, nil)
				if err == nil || name == "without end" && !errors.Is(err, errTooLong) {
					t.Errorf("an answer of %d bytes, %v", len(got), err)
				}
				c.Close()
				time.Sleep(2 * time.Second)
			})
		})
	}
}
