package grid

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/transport"
)

// failingDials is a network whose dials fail.
type failingDials struct {
	Network
	err error
}

// Dial implements Network.
func (n failingDials) Dial(context.Context, string) (net.Conn, error) { return nil, n.err }

// LookupHost resolves every name to one address.
func (failingDials) LookupHost(context.Context, string) ([]string, error) {
	return []string{"192.0.2.7"}, nil
}

// TestDialsWithoutDescriptors: a dial that finds no file descriptor counts like a connection that is
// not accepted, for a minute; other failures of dials do not.
func TestDialsWithoutDescriptors(t *testing.T) {
	m := newMember(Config{Network: failingDials{err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}})
	if _, err := m.cfg.Network.Dial(t.Context(), "a:1"); !errors.Is(err, syscall.ECONNREFUSED) ||
		m.files.exhausted() != "" {
		t.Errorf("a refused dial: %v, reported %q", err, m.files.exhausted())
	}
	m = newMember(Config{Network: failingDials{err: &net.OpError{Op: "dial", Err: syscall.EMFILE}}})
	now := time.Hour
	m.files.mono = func() time.Duration { return now }
	if _, err := m.cfg.Network.Dial(t.Context(), "a:1"); !errors.Is(err, syscall.EMFILE) ||
		!strings.Contains(m.files.exhausted(), "too many open files") {
		t.Errorf("a dial without a descriptor: %v, reported %q", err, m.files.exhausted())
	}
	if found, err := transport.ResolverOf(m.cfg.Network).LookupHost(t.Context(), "seed.example"); err != nil ||
		len(found) != 1 || found[0] != "192.0.2.7" {
		t.Errorf("the network's resolver is not used: %v, %v", found, err)
	}
	if now += descriptorsShown + 1; m.files.exhausted() != "" {
		t.Errorf("after %v it reports %q", descriptorsShown, m.files.exhausted())
	}
}
