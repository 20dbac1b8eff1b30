package client

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestStatsOfHandles: a client's counts are those of its handles, those of a name together,
// and a handle that is forgotten keeps counting.
func TestStatsOfHandles(t *testing.T) {
	c := statsClient(t)
	add := func(stripe bool) *attachment.Control {
		t.Helper()
		def, err := sequencer.Define("orders", sequencer.Config{})
		if err != nil {
			t.Fatal(err)
		}
		e := &entry{Stripe: stripe}
		_, e.Control = attachment.New(attachment.Ref{Definition: def}, fixedBackend{}, fixedClock{})
		if err := c.handles.Put(e); err != nil {
			t.Fatal(err)
		}
		if err := e.Control.Handle().AttachLogicalNode(t.Context()); err != nil {
			t.Fatal(err)
		}
		return e.Control
	}
	one, two := add(false), add(true)
	for _, control := range []*attachment.Control{one, two, two} {
		if _, err := control.Handle().Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s := c.Stats()
	if s.IDs != 3 || s.Handles != 2 || s.Attached != 2 || len(s.Sequencers) != 1 || s.Sequencers[0].IDs != 3 ||
		s.Sequencers[0].Attached != 2 {
		t.Errorf("two handles: %+v", s)
	}
	if want := fixedGrant.Until.Time(); !s.GrantUntil.Equal(want) {
		t.Errorf("grants end at %v, want %v", s.GrantUntil, want)
	}
	c.handles.Drop(one)
	if s = c.Stats(); s.IDs != 3 || s.Handles != 1 || s.Sequencers[0].IDs != 2 {
		t.Errorf("after one was forgotten: %+v", s)
	}
}

// TestStatsOfCalls: attaches, renewals and dials are counted, those that failed too.
func TestStatsOfCalls(t *testing.T) {
	c := statsClient(t)
	c.counts.attached(time.Second, nil)
	c.counts.attached(time.Second, errors.New("no"))
	c.counts.renewed(nil)
	c.counts.renewed(errors.New("no"))
	_ = c.counts.dials.Call(t.Context(), "127.0.0.1:1", wire.PathDirectory, wire.DirectoryRequest{}, nil)
	s := c.Stats()
	if s.Attaches.Count != 1 || s.AttachFailures != 1 || s.Renewals != 2 || s.RenewalFailures != 1 || s.Dials != 1 ||
		s.DialFailures != 1 {
		t.Errorf("stats: %+v", s)
	}
}

// statsClient returns a client whose grid does not answer.
func statsClient(t *testing.T) *Client {
	t.Helper()
	refuse := func(context.Context, string) (net.Conn, error) { return nil, errors.New("refused") }
	c, err := newClient(Config{Addrs: []string{"127.0.0.1:1"}, Dial: refuse})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

var fixedGrant = attachment.Grant{From: 1_800_000_000_000, Until: 1_800_000_010_000}

// fixedBackend attaches to logical node 0, and fixedClock never advances.
type fixedBackend struct{}

func (fixedBackend) Attach(context.Context, attachment.Ref, attachment.Preference) (attachment.Attachment, error) {
	return attachment.Attachment{ID: attachment.ID{1}, Grant: fixedGrant}, nil
}
func (fixedBackend) Detach(context.Context, attachment.Ref, attachment.Release) error { return nil }
func (fixedBackend) Destroy(context.Context, attachment.Ref) error                    { return nil }

type fixedClock struct{}

func (fixedClock) Now() clustertime.Tick { return fixedGrant.From + 1 }
func (fixedClock) Read() (now clustertime.Tick, lasts, mono time.Duration) {
	return fixedGrant.From + 1, 0, 0
}
func (fixedClock) Wait(ctx context.Context, _ clustertime.Tick, _ <-chan struct{}) error {
	return ctx.Err()
}
