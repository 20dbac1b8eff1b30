package frames

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/wire/frame"
)

// delivery is a stream that is delivered.
type delivery struct {
	mu   sync.Mutex
	got  bytes.Buffer
	ends int
	fail error // of the next part
}

func (d *delivery) part(data []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.got.Write(data)
	return d.fail
}

func (d *delivery) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ends++
}

// seen returns the text so far, and how often the stream has ended.
func (d *delivery) seen() string {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	return fmt.Sprint(d.got.String(), " ", d.ends)
}

// pushes is a member whose streams are pushed, with one open stream of a caller.
func pushes(ctx context.Context, t *testing.T) (e *ends, r *Request, d *delivery) {
	requests := make(chan *Request, 2*StreamsMax)
	e = quickly(t, func(r *Request) bool {
		r.Begin(200, []byte("a"))
		requests <- r
		return true
	}, nil)
	d = &delivery{}
	if status, _, err := e.connect().Open(ctx, frame.Head{}, nil, d.part, d.end); err != nil || status != 200 {
		t.Fatal(status, err)
	}
	return e, <-requests, d
}

// TestPushedStream: the parts that a member pushes are delivered in order, from the first part on, and each
// end of the stream is told to the other once: the member's, the caller's, that of the connection,
// and that of a part which the caller does not understand.
func TestPushedStream(t *testing.T) {
	for how, c := range map[string]struct {
		end  func(e *ends, r *Request, cancel func(), d *delivery)
		want string
	}{
		"by the member":     {func(_ *ends, r *Request, _ func(), _ *delivery) { r.End(); r.End() }, "abc 1"},
		"by the caller":     {func(_ *ends, _ *Request, cancel func(), _ *delivery) { cancel() }, "abc 1"},
		"by the connection": {func(e *ends, _ *Request, _ func(), _ *delivery) { _ = e.raw.Close() }, "abc 1"},
		"by a bad part": {func(_ *ends, r *Request, _ func(), d *delivery) {
			d.fail = errors.New("unreadable")
			r.Push([]byte("d"))
		}, "abcd 1"},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			e, r, d := pushes(ctx, t)
			ended := make(chan error, 1)
			context.AfterFunc(r.Context(), func() { ended <- r.Context().Err() })
			r.Push([]byte("b"))
			r.Push([]byte("c"))
			time.Sleep(2 * silentPeriods * period)
			if got := d.seen(); got != "abc 0" {
				t.Errorf("%s: before the end: %q", how, got)
			}
			c.end(e, r, cancel, d)
			if got := d.seen(); got != c.want {
				t.Errorf("%s: %q, want %q", how, got, c.want)
			}
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("%s: the member's context ended with %v", how, err)
			}
			if n := len(e.client.calls); n != 0 {
				t.Errorf("%s: %d calls are left at the caller", how, n)
			}
			if how == "by the connection" {
				return
			}
			// Its place is free: as many streams as a connection may have can be opened.
			for i := range StreamsMax {
				if status, _, err := e.client.Open(t.Context(), frame.Head{}, nil, d.part, d.end); err != nil || status != 200 {
					t.Fatalf("%s: stream %d: %d, %v", how, i, status, err)
				}
			}
		})
	}
}

// TestPushNeverWaits: a part for a caller that reads nothing is refused before much of it is in
// memory.
func TestPushNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := make(chan *Request, 1)
		e := quickly(t, func(r *Request) bool { requests <- r; return true }, nil)
		_, _ = e.raw.Write(request(1, 0, ""))
		r := <-requests
		r.Begin(200, nil)
		pushed := 0
		for part := []byte(strings.Repeat("x", 1000)); r.Push(part); pushed += len(part) {
			if pushed > 2*queueMax {
				t.Fatalf("%d bytes wait", pushed)
			}
		}
		if pushed < queueMax/2 {
			t.Errorf("%d bytes were taken", pushed)
		}
		r.End()
		<-e.ended // for the write that does not end
	})
}
