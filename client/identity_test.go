package client

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// numbering is a grid that gives number 7 to each process, and answers registrations with
// the error that is set.
type numbering struct {
	*fake
	refuses atomic.Pointer[error]
	renewed atomic.Int64 // incarnation of the newest renewal with an identity
}

func newNumbering() *numbering {
	n := &numbering{fake: newFake()}
	n.hook(func(_ context.Context, _, path string, in any) error {
		switch in := in.(type) {
		case wire.AttachRequest:
			if in.Identity == nil {
				return wire.ErrBadRequest
			}
		case wire.RenewRequest:
			if in.Identity != nil {
				n.renewed.Store(int64(in.Identity.Incarnation))
			}
		}
		return nil
	})
	return n
}

// refuse has registrations refused from now on; nil ends that.
func (n *numbering) refuse(err error) { n.refuses.Store(&err) }

// Call implements Transport.
func (n *numbering) Call(ctx context.Context, addr, path string, in, out any) error {
	var answer any
	switch in.(type) {
	case wire.IdentityNextRequest:
		answer = wire.IdentityNextResponse{Next: 7}
	case wire.IdentityApplyRequest:
		answer = wire.IdentityApplyResponse{ID: 7, Next: 8}
	case wire.IdentityRegisterRequest:
		if err := n.refuses.Load(); err != nil && *err != nil {
			return *err
		}
		answer = wire.IdentityRegisterResponse{Incarnation: 4, AgainMS: 1000}
	default:
		return n.fake.Call(ctx, addr, path, in, out)
	}
	reflect.ValueOf(out).Elem().Set(reflect.ValueOf(answer))
	return nil
}

func (n *numbering) config(dir string) Config {
	return Config{Addrs: []string{"a:1"}, parts: calls.Parts{Transport: n}, DataDir: dir, Cluster: "shop", Set: "web"}
}

// TestNoGrantBeforeTheNumber: a client that asked for a number has no handle before it is
// registered, and says how far it is; then each attach and renewal shows it.
func TestNoGrantBeforeTheNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, dir := newNumbering(), t.TempDir()
		n.refuse(sequencer.ErrUnavailable)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := Dial(ctx, n.config(dir))
		if !errors.Is(err, sequencer.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) ||
			!strings.Contains(err.Error(), "META_DONE") {
			t.Errorf("dial: %v", err)
		}
		n.set(func() {
			for _, c := range n.calls {
				if c.path != wire.PathDirectory {
					t.Errorf("it called %s", c.path)
				}
			}
		})
		n.refuse(nil)
		c, err := Dial(t.Context(), n.config(dir))
		if err != nil || c.Number() != 7 {
			t.Fatal(c, err)
		}
		defer func() { _ = c.Close() }()
		s, err := c.CreateSequencer(t.Context(), "orders", sequencer.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Next(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(10 * time.Second)
		if n.renewed.Load() != 4 {
			t.Errorf("the renewals showed incarnation %d", n.renewed.Load())
		}
	})
}

// TestNumberThatIsGone: a client whose number the grid no longer knows attaches nothing, and
// continues when it is registered again.
func TestNumberThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbering()
		c, err := Dial(t.Context(), n.config(t.TempDir()))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		n.refuse(numbers.ErrNotRegistered)
		time.Sleep(2 * time.Second)
		if _, err := c.CreateSequencer(t.Context(), "orders", sequencer.Config{}); !errors.Is(err, numbers.ErrNotRegistered) {
			t.Errorf("create: %v", err)
		}
		n.refuse(nil)
		time.Sleep(10 * time.Second)
		if _, err := c.CreateSequencer(t.Context(), "orders", sequencer.Config{}); err != nil {
			t.Errorf("create after it is registered again: %v", err)
		}
	})
}

// TestRenewalOfAFencedProcess: handles end with the cause, and what they had is given back.
func TestRenewalOfAFencedProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbering()
		c, err := Dial(t.Context(), n.config(t.TempDir()))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		s, err := c.CreateSequencer(t.Context(), "orders", sequencer.Config{})
		if err != nil {
			t.Fatal(err)
		}
		striped, err := c.CreateStriped(t.Context(), "clicks", sequencer.Config{}, 3)
		if err != nil {
			t.Fatal(err)
		}
		n.hook(func(_ context.Context, _, path string, _ any) error {
			if path == wire.PathRenew {
				return numbers.ErrFenced
			}
			return nil
		})
		time.Sleep(10 * time.Second)
		if _, err := s.Next(t.Context()); !errors.Is(err, sequencer.ErrFenced) || !errors.Is(err, numbers.ErrFenced) {
			t.Errorf("next: %v", err)
		}
		if _, err := striped.Next(t.Context()); !errors.Is(err, sequencer.ErrFenced) {
			t.Errorf("next of the striped handle: %v", err)
		}
		given := 0
		n.set(func() { given = len(n.given) })
		if given != 4 {
			t.Errorf("%d of 4 attachments were given back", given)
		}
		if r, numbered := c.Registration(); !numbered || r.Number != 7 || !errors.Is(r.Err, sequencer.ErrFenced) {
			t.Errorf("registration %+v", r)
		}
		if err := c.Leave(t.Context()); err != nil {
			t.Errorf("leave: %v", err)
		}
	})
}

// TestDialRefusesAPort: an address with a port that does not exist is a mistake of the configuration; Dial
// does not wait for its member.
func TestDialRefusesAPort(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:65536", "127.0.0.1:x-y", "127.0.0.1:-1"} {
		_, err := Dial(t.Context(), Config{Addrs: []string{addr}})
		if !errors.Is(err, sequencer.ErrInvalidConfig) || !strings.Contains(err.Error(), "give 1 to 65535") {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

// TestIdentityConfig: a set needs a directory, a cluster a set, and names have a limit.
func TestIdentityConfig(t *testing.T) {
	for _, change := range []func(*Config){
		func(c *Config) { c.DataDir = "" },
		func(c *Config) { c.Set = "" },
		func(c *Config) { c.Set = strings.Repeat("x", numbers.MaxSetName+1) },
		func(c *Config) { c.DataDir = "/dev/null/x" },
	} {
		cfg := newNumbering().config(t.TempDir())
		change(&cfg)
		if _, err := Dial(t.Context(), cfg); !errors.Is(err, sequencer.ErrInvalidConfig) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}
