package api

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestEventsInOrder: a stream has its events in order, and ends when too many wait.
func TestEventsInOrder(t *testing.T) {
	e := NewEvents()
	s := e.open(t.Context(), "h")
	for i := range eventQueue - 1 {
		e.Publish([]attachment.HolderID{"h", "other"}, wire.Event{Name: fmt.Sprint(i)})
	}
	for i := -1; i < eventQueue-1; i++ {
		want := fmt.Sprint(i)
		if i < 0 {
			want = "" // the one that says that the stream stands
		}
		if event, err := s.Next(); err != nil || event.Name != want {
			t.Fatalf("event %d is %q, %v", i, event.Name, err)
		}
	}
	for range eventQueue + 1 {
		e.Publish([]attachment.HolderID{"h"}, wire.Event{Name: "more"})
	}
	if _, err := s.Next(); !errors.Is(err, context.Canceled) {
		t.Errorf("a stream with too many events waiting: %v", err)
	}
}

// TestEventQueueTakesMemoryOnDemand: a stream on which nothing waits costs little.
func TestEventQueueTakesMemoryOnDemand(t *testing.T) {
	const streams = 1000
	e := NewEvents()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range streams {
		s := e.open(t.Context(), attachment.HolderID(fmt.Sprint(i)))
		if _, err := s.Next(); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / streams; each > 4<<10 {
		t.Errorf("a stream took %d bytes", each)
	}
}

// TestEventStreamsAreOfACaller: a caller that has all its streams leaves another certificate at
// its address those of its own.
func TestEventStreamsAreOfACaller(t *testing.T) {
	e := NewEvents()
	open := func(id string) error {
		_, err := (&connection{peer: "10.0.0.1"}).openStream(e, id)
		return err
	}
	for i := range peerStreams {
		if err := open("cert:1"); err != nil {
			t.Fatal(i, err)
		}
	}
	if err := open("cert:1"); !errors.Is(err, sequencer.ErrUnavailable) {
		t.Errorf("one stream more: %v", err)
	}
	if err := open("cert:2"); err != nil {
		t.Errorf("another certificate: %v", err)
	}
}

// TestEventStreamsOfOnePeer: one address may have a number of streams, and others have theirs.
func TestEventStreamsOfOnePeer(t *testing.T) {
	e := NewEvents()
	leave := make([]func(), peerStreams)
	for i := range leave {
		var err error
		if leave[i], err = e.admit("10.0.0.1"); err != nil {
			t.Fatal(i, err)
		}
	}
	if _, err := e.admit("10.0.0.1"); !errors.Is(err, sequencer.ErrUnavailable) {
		t.Errorf("one stream more: %v", err)
	}
	if _, err := e.admit("10.0.0.2"); err != nil {
		t.Errorf("another address: %v", err)
	}
	leave[7]()
	if _, err := e.admit("10.0.0.1"); err != nil {
		t.Errorf("after one has ended: %v", err)
	}
	for i, end := range leave {
		if i != 7 {
			end()
		}
	}
	if len(e.peers) != 2 || e.peers["10.0.0.1"] != 1 {
		t.Errorf("in the end there are %v", e.peers)
	}
}

// TestEventsBeforeTheStream: an event for a holder that opens its stream a moment later is
// delivered by that, once; an old one, and one of another holder, is not.
func TestEventsBeforeTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := NewEvents()
		names := func(h attachment.HolderID) (out []string) {
			s := e.open(t.Context(), h)
			defer s.end()
			for event, found := s.take(); found; event, found = s.take() {
				out = append(out, event.Name)
			}
			return out
		}
		e.Publish([]attachment.HolderID{"h"}, wire.Event{Name: "old"})
		time.Sleep(earlyKept + time.Second)
		e.Publish([]attachment.HolderID{"other", "h"}, wire.Event{Name: "a"})
		time.Sleep(earlyKept - time.Second)
		e.Publish([]attachment.HolderID{"h"}, wire.Event{Name: "b"})
		if got := names("h"); !slices.Equal(got, []string{"", "a", "b"}) {
			t.Errorf("the stream begins with %q", got)
		}
		synctest.Wait()
		if got := names("h"); !slices.Equal(got, []string{""}) {
			t.Errorf("the next one begins with %q", got)
		}
		for i := range 2 * earlyMax {
			e.Publish([]attachment.HolderID{"full"}, wire.Event{Name: strconv.Itoa(i)})
		}
		if got := names("full"); len(got) != 1+earlyMax || got[1] != strconv.Itoa(earlyMax) {
			t.Errorf("%d events, the first %q", len(got), got[:min(len(got), 2)])
		}
	})
}
