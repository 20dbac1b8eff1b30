package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// paths returns the calls that arrived since the last look, without those for the directory.
func (f *fake) paths() (out []string) {
	f.set(func() {
		for _, m := range f.calls {
			out = append(out, m.path)
		}
		f.calls = nil
	})
	return out
}

// TestFirstIDTakesTwoCalls: a fresh process asks for the directory, and creates and attaches
// by one call. Nothing is renewed when the event stream stands.
func TestFirstIDTakesTwoCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.hook(func(_ context.Context, _, path string, _ any) error {
			if path == wire.PathEvents {
				time.Sleep(time.Millisecond) // the stream stands after the answer, as by the network
			}
			return nil
		})
		c := f.dial(t)
		h := create(t, c, "orders")
		works(t, h)
		if got := f.paths(); !slices.Equal(got, []string{wire.PathDirectory, wire.PathCreate}) {
			t.Errorf("the calls were %v", got)
		}
		time.Sleep(2 * time.Second)
		for _, path := range f.paths() {
			if path != wire.PathEvents {
				t.Errorf("then came %s", path)
			}
		}
		time.Sleep(2 * time.Second)
		sets := slices.DeleteFunc(f.made(wire.PathRenew),
			func(m made) bool { return len(m.in.(wire.RenewRequest).Sets) == 0 })
		if len(sets) != 1 {
			t.Errorf("%d renewals in a quarter of a window", len(sets))
		}
		works(t, h)
	})
}

// TestCreateAttachesAtAnOlderOwner: an owner that creates only is asked by two calls, as ever.
func TestCreateAttachesAtAnOlderOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.older = true
		c := f.dial(t)
		works(t, create(t, c, "orders"))
		// The event stream may stand, and have a renewal made, before the attach.
		all := f.paths()
		got := slices.DeleteFunc(slices.Clone(all), func(path string) bool {
			return path != wire.PathCreate &&
				path != wire.PathAttach
		})
		if !slices.Equal(got, []string{wire.PathCreate, wire.PathAttach}) || f.attached() != 1 {
			t.Errorf("the calls were %v; %d logical nodes", all, f.attached())
		}
	})
}

// TestLostCreateAnswer: a create that attaches is repeated under the same attachment ID, so
// that a lost answer costs no second logical node.
func TestLostCreateAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		lost := 3
		f.hookAnswers(func(_ context.Context, _, path string, _ any) error {
			if path == wire.PathCreate && lost > 0 {
				lost--
				return errCut
			}
			return nil
		})
		h := create(t, c, "orders")
		works(t, h)
		seen := map[attachment.ID]bool{}
		for _, m := range f.made(wire.PathCreate) {
			seen[m.in.(wire.CreateRequest).Attach.ID] = true
		}
		if n := len(f.made(wire.PathCreate)); n != 4 || len(seen) != 1 || f.attached() != 1 {
			t.Errorf("%d creates under %d IDs, %d logical nodes", n, len(seen), f.attached())
		}
	})
}

// TestCreatedWithoutALogicalNode: if the sequencer is created and has no free logical node, the
// handle comes Detached beside the error, by one call, and the next create asks again.
func TestCreatedWithoutALogicalNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		var others []*sequencer.Sequencer
		for range 128 {
			others = append(others, create(t, f.dial(t), "orders"))
		}
		c := f.dial(t)
		f.paths()
		h, err := c.CreateSequencer(t.Context(), "orders", sequencer.Config{Nodes: 128})
		wants(t, err, sequencer.ErrNoFreeNode)
		if h == nil || h.State() != sequencer.Detached {
			t.Fatalf("the handle is %v", h)
		}
		if n := len(f.made(wire.PathCreate)); n != 1 || len(f.made(wire.PathAttach)) != 0 {
			t.Errorf("%d creates, %d attaches", n, len(f.made(wire.PathAttach)))
		}
		if s := c.Stats(); s.AttachFailures != 1 {
			t.Errorf("%d attaches failed by the statistics", s.AttachFailures)
		}
		if err := others[0].DetachLogicalNode(t.Context()); err != nil {
			t.Fatal(err)
		}
		works(t, create(t, c, "orders"))
		if n := len(f.made(wire.PathCreate)); n != 1 {
			t.Errorf("%d creates", n)
		}
	})
}

// TestFirstAttachNotAnsweredYet: an owner that could not attach for now has recorded the
// attachment, perhaps; it is asked again under the same ID.
func TestFirstAttachNotAnsweredYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c, err := Dial(t.Context(), Config{Addrs: []string{"a:1"}, parts: calls.Parts{Transport: unanswered{f}}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		works(t, create(t, c, "orders"))
		created, attached := f.made(wire.PathCreate), f.made(wire.PathAttach)
		if len(created) != 1 || len(attached) != 1 ||
			created[0].in.(wire.CreateRequest).Attach.ID != attached[0].in.(wire.AttachRequest).Claim.ID || f.attached() != 1 {
			t.Errorf("created by %+v, attached by %+v; %d logical nodes", created, attached, f.attached())
		}
	})
}

// unanswered has the attach of each create wait for backups that do not answer.
type unanswered struct{ *fake }

func (u unanswered) Call(ctx context.Context, addr, path string, in, out any) error {
	err := u.fake.Call(ctx, addr, path, in, out)
	if res, ok := out.(*wire.SequencerResponse); ok && res.Attached != nil {
		res.Attached = &wire.Attached{Error: wire.ErrorOf(errors.Join(sequencer.ErrUnavailable), 0)}
	}
	return err
}

// TestCreatedByAClosedClient: an answer that comes when the client has closed makes no handle.
func TestCreatedByAClosedClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		f.hookAnswers(func(_ context.Context, _, path string, _ any) error {
			if path == wire.PathCreate {
				go c.Close()
				time.Sleep(time.Millisecond)
			}
			return nil
		})
		_, err := c.CreateSequencer(t.Context(), "orders", sequencer.Config{Nodes: 128})
		wants(t, err, sequencer.ErrClosed)
	})
}

// TestManyAttachedApartRenewTogether: sequencers that a process attached one after the other are
// renewed by one call to each owner, a few calls in a quarter of a window however many they are.
func TestManyAttachedApartRenewTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		for i := range 300 {
			create(t, c, fmt.Sprint("s", i))
			time.Sleep(30 * time.Millisecond)
		}
		time.Sleep(10 * time.Second)
		f.paths()
		const quarters = 16
		time.Sleep(quarters * 15 * time.Second / 4)
		renewals := f.made(wire.PathRenew)
		if n, owners := len(renewals), len(f.members); n < owners*quarters-owners || n > owners*quarters*5/4+owners {
			t.Errorf("%d renewals at %d owners in %d quarters of a window", n, owners, quarters)
		}
		for _, r := range renewals {
			if in := r.in.(wire.RenewRequest); len(in.Claims) > 0 || len(in.Sets) != 2 {
				t.Fatalf("a renewal shows %d sets and %d claims", len(in.Sets), len(in.Claims))
			}
		}
	})
}
