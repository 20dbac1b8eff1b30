package api

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/calls/overhttp"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
)

// pulled is a stream whose events are pulled.
type pulled interface {
	Next() (wire.Event, error)
	Close() error
}

// TestPushedEvents: an event stream in frames has the events, the end, the errors and the counts
// that one over HTTP has, and only the one over HTTP has a goroutine.
func TestPushedEvents(t *testing.T) {
	said := map[string]string{}
	for _, how := range []string{"frames", "HTTP"} {
		q := newQuickServer(t)
		h, plain := calls.NewPool(calls.TCP, nil), overhttp.New(nil, q.addr)
		defer h.Close()
		defer plain.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		open := func(in wire.EventsRequest) (pulled, error) {
			if how == "HTTP" {
				return plain.Events(ctx, in)
			}
			return overhttp.Pull(ctx, h, q.addr, in)
		}
		in := wire.EventsRequest{Holder: "h"}
		first, err := open(in)
		if err != nil {
			t.Fatal(err)
		}
		next := func(s pulled) {
			e, err := s.Next()
			said[how] += fmt.Sprint(e.Name, " ", err != nil, "; ")
		}
		next(first) // it stands
		_, direct := q.events.outletOf("h").(*pushed)
		if direct != (how == "frames") {
			t.Errorf("%s: the stream is pushed: %v", how, direct)
		}
		for i := range 3 {
			q.events.Publish([]attachment.HolderID{"h", "other"}, wire.Event{Name: fmt.Sprint("event ", i)})
		}
		for range 3 {
			next(first)
		}
		second, err := open(in) // ends the first
		if err != nil {
			t.Fatal(err)
		}
		next(second)
		next(first)
		early, err := open(wire.EventsRequest{Holder: "other"})
		if err != nil {
			t.Fatal(err)
		}
		for range 4 { // those of before, too
			next(early)
		}
		for _, bad := range []wire.EventsRequest{{}, {Holder: attachment.HolderID(make([]byte, 200))}} {
			_, err = open(bad)
			said[how] += fmt.Sprintln(err != nil)
		}
		var more []pulled
		for err = nil; err == nil; {
			var s pulled
			if s, err = open(wire.EventsRequest{Holder: attachment.HolderID(fmt.Sprint(len(more)))}); err == nil {
				more = append(more, s)
			}
			if len(more) > peerStreams {
				t.Fatalf("%s: %d streams of one address", how, len(more))
			}
		}
		said[how] += fmt.Sprintln(len(more))
		for _, s := range append(more, first, second, early) {
			_ = s.Close()
		}
		for by := time.Now().Add(10 * time.Second); q.events.len() > 0; time.Sleep(time.Millisecond) {
			if time.Now().After(by) {
				t.Fatalf("%s: %d streams are left", how, q.events.len())
			}
		}
	}
	if said["frames"] != said["HTTP"] {
		t.Errorf("in frames:\n%s\nover HTTP:\n%s", said["frames"], said["HTTP"])
	}
}

// TestPushedEventsAreOfACaller: a stream has no events of sequencers that its caller may not use.
func TestPushedEventsAreOfACaller(t *testing.T) {
	s := &pushed{request: &quickRequest{caller: caller{peer: security.Peer{Names: []security.Pattern{"orders-*"}}}}}
	for name, want := range map[string]bool{"": true, "orders-1": true, "bills": false} {
		if got := s.concerns(wire.Event{Name: name}); got != want {
			t.Errorf("an event of %q: %v", name, got)
		}
	}
}

// outletOf returns where a holder's events go.
func (e *Events) outletOf(h attachment.HolderID) outlet {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.streams[h]
}
