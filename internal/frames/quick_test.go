package frames

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/wire/frame"
)

// quickly is serving with a Quick.
func quickly(t *testing.T, quick Quick, handler Handler) *ends {
	near, far := net.Pipe()
	e := &ends{raw: near, ended: make(chan error, 1)}
	of := Server{Workers: &Workers{}, Busy: func() (int, []byte) { return 503, []byte("busy") }, Quick: quick,
		Handler: handler}
	go func() { e.ended <- of.Serve(context.Background(), far, bufio.NewReader(far)) }()
	t.Cleanup(func() { _ = near.Close(); of.Workers.Close() })
	return e
}

func (e *ends) connect() *Client {
	e.client = NewClient(e.raw, bufio.NewReader(e.raw), nil)
	return e.client
}

// TestQuick: a request that Quick takes is answered from any goroutine; those that it leaves, and
// those whose body comes later, are served by the handler.
func TestQuick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slow atomic.Int64
		e := quickly(t, func(r *Request) bool {
			body := bytes.Clone(r.Inline)
			switch r.Head.Path {
			case "/now":
				r.Answer(207, body)
			case "/later":
				time.AfterFunc(time.Second, func() { r.Answer(207, body) })
			case "/long":
				r.Answer(207, bytes.Repeat(body, 2*frame.Chunk))
			default:
				return false
			}
			return true
		}, func(w *Writer, r *Request) {
			slow.Add(1)
			w.SetStatus(207)
			echo(w, r)
		})
		c := e.connect()
		for path, served := range map[string]struct {
			size, times int
			slow        bool
		}{"/now": {10, 1, false}, "/later": {10, 1, false}, "/long": {1, 2 * frame.Chunk, false}, "/other": {10, 1, true},
			"/now/": {frame.Inline, 1, true}} {
			before := slow.Load()
			var all sync.WaitGroup
			for range 2 * StreamsMax / 4 { // a place is free when its request has been answered
				all.Go(func() {
					body := bytes.Repeat([]byte("a"), served.size)
					status, answer, err := c.Do(t.Context(), frame.Head{Path: path}, body)
					if err != nil || status != 207 || !bytes.Equal(answer, bytes.Repeat(body, served.times)) {
						t.Errorf("%s: status %d, %d bytes, %v", path, status, len(answer), err)
					}
				})
			}
			all.Wait()
			if by := slow.Load() - before; (by > 0) != served.slow {
				t.Errorf("%s: %d requests were served by the handler", path, by)
			}
		}
		if status, answer, err := c.Do(t.Context(), frame.Head{Path: "/now"}, make([]byte, frame.Inline+1)); err != nil ||
			status != 207 || len(answer) != frame.Inline+1 {
			t.Errorf("a body that comes later: status %d, %d bytes, %v", status, len(answer), err)
		}
	})
}

// TestLimitOfRequest: the context of a request ends at the earliest limit, also that of a context
// made of it, and with the request.
func TestLimitOfRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := make(chan *Request, 3)
		e := quickly(t, func(r *Request) bool { requests <- r; return true }, nil)
		c := e.connect()
		for range 3 {
			go func() { _, _, _ = c.Do(t.Context(), frame.Head{}, nil) }()
		}
		began, spans := time.Now(), []time.Duration{3 * time.Second, time.Second, 0}
		var ended [3]time.Duration
		var why [3]error
		for i, d := range spans {
			r := <-requests
			child, cancel := context.WithTimeout(r.Context(), time.Hour)
			defer cancel()
			if d > 0 {
				r.Limit(began.Add(d))
				r.Limit(began.Add(2 * d))
			} else {
				time.AfterFunc(5*time.Second, func() { r.Answer(200, nil) })
			}
			go func() {
				<-child.Done()
				ended[i], why[i] = time.Since(began), r.Context().Err()
			}()
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if ended != [3]time.Duration{3 * time.Second, time.Second, 5 * time.Second} {
			t.Errorf("the contexts ended after %v", ended)
		}
		if !errors.Is(why[0], context.DeadlineExceeded) || !errors.Is(why[1], context.DeadlineExceeded) ||
			!errors.Is(why[2], context.Canceled) {
			t.Errorf("the contexts ended with %v", why)
		}
		_ = e.raw.Close()
	})
}

// TestContextsEndWithTheConnection: those of requests that are in progress.
func TestContextsEndWithTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := make(chan *Request, 1)
		e := quickly(t, func(r *Request) bool { requests <- r; return true }, nil)
		go func() { _, _ = e.raw.Write(request(1, 0, "")) }()
		r := <-requests
		told := make(chan struct{})
		r.exchange.AfterFunc(func() { close(told) })
		stop := r.exchange.AfterFunc(func() { t.Error("a function that was stopped is called") })
		if !stop() || stop() {
			t.Error("a function was not stopped, or twice")
		}
		_ = e.raw.Close()
		<-e.ended
		<-told
		<-r.Context().Done()
		if err := r.Context().Err(); !errors.Is(err, context.Canceled) {
			t.Errorf("the context ended with %v", err)
		}
		again := make(chan struct{})
		r.exchange.AfterFunc(func() { close(again) })
		<-again
		r.Answer(200, nil) // no caller reads it
	})
}

// TestQuickAnswersThatAreNotRead: the member reads no more requests than it has room for their answers.
func TestQuickAnswersThatAreNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := quickly(t, func(r *Request) bool { r.Answer(200, r.Inline); return true }, nil)
		var sent atomic.Int64
		go func() {
			for i := uint32(1); ; i++ {
				n, err := e.raw.Write(request(i, 1000, strings.Repeat("x", 1000)))
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
		if most := int64(2 * queueMax); sent.Load() > most {
			t.Errorf("the member took %d bytes, more than %d", sent.Load(), most)
		}
	})
}

// TestStart: a started call is told of its answer, of its deadline, or of the end of the
// connection, once; one that would have to wait is not started.
func TestStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := serving(t, false, func(w *Writer, r *Request) {
			switch r.Head.Path {
			case "/never":
				<-r.Context().Done()
			case "/parts":
				_, _ = io.WriteString(w, "a")
				_ = w.Flush()
			}
			w.SetStatus(207)
			echo(w, r)
		})
		type ending struct {
			status int
			answer string
			err    error
			after  time.Duration
		}
		var mu sync.Mutex
		ends := map[string][]ending{}
		began := time.Now()
		start := func(path, body string) bool {
			return e.client.Start(time.Now().Add(time.Second), frame.Head{Path: path}, []byte(body),
				func(status int, answer []byte, err error) {
					mu.Lock()
					defer mu.Unlock()
					ends[path] = append(ends[path], ending{status, string(answer), err, time.Since(began)})
				})
		}
		for _, path := range []string{"/x", "/never", "/parts"} {
			if !start(path, "b") {
				t.Errorf("%s is not started", path)
			}
		}
		time.Sleep(1500 * time.Millisecond)
		for range startedMax {
			if !start("/never", "") {
				t.Error("a call is not started")
			}
		}
		if start("/x", "") || start("/x", strings.Repeat("x", frame.Inline+1)) {
			t.Error("a call that would have to wait is started")
		}
		e.client.Close()
		time.Sleep(5 * time.Second)
		if start("/x", "") {
			t.Error("a call on a connection that has ended is started")
		}
		mu.Lock()
		defer mu.Unlock()
		if got := ends["/x"]; len(got) != 1 || got[0].status != 207 || got[0].answer != "b" {
			t.Errorf("the answer: %+v", got)
		}
		if got := ends["/parts"]; len(got) != 1 || got[0].answer != "ab" {
			t.Errorf("an answer in parts: %+v", got)
		}
		got := ends["/never"]
		if len(got) != 1+startedMax || !errors.Is(got[0].err, context.DeadlineExceeded) || got[0].after != time.Second ||
			!errors.Is(got[1].err, ErrEnded) {
			t.Errorf("without an answer: %d calls, %+v", len(got), got[:min(len(got), 2)])
		}
	})
}
