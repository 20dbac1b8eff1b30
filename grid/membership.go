package grid

import (
	"context"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/audit"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/membership"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// membershipAPI implements [membership.Member] for the paths under /membership.
type membershipAPI struct {
	*deps

	gate  *transport.Gate // nil without debug
	leave func(context.Context) error
	close func() error

	started atomic.Bool // Start has returned
	leaving atomic.Bool // it leaves by request
}

// requestedLeave bounds the time that a member may take to leave by request.
const requestedLeave = 20 * time.Second

func (s *membershipAPI) ID() string { return string(s.self) }

func (s *membershipAPI) Nodes() []membership.Node {
	out := []membership.Node{}
	for _, p := range s.gossip.Peers() {
		node := membership.Node{ID: string(p.Incarnation)}
		node.Address, node.ProtocolPort = splitAddr(p.Gossip)
		_, node.ServicePort = splitAddr(p.API)
		out = append(out, node)
	}
	return out
}

// splitAddr splits an IP:port; an invalid part is empty.
func splitAddr(addr string) (host string, port int) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return host, 0
	}
	return host, int(n)
}

func (s *membershipAPI) Subscribe(ctx context.Context, addr string) error {
	err := s.gossip.Subscribe(ctx, addr)
	s.audit.Write(audit.Entry{Action: audit.Subscribe, Name: addr, Who: api.WhoOf(ctx), Err: err})
	return err
}

func (s *membershipAPI) Unsubscribe(ctx context.Context) (after func(), err error) {
	if err := s.notStarted(); err != nil {
		return nil, err
	}
	who := api.WhoOf(ctx)
	s.audit.Write(audit.Entry{Action: audit.Unsubscribe, Name: string(s.self), Who: who})
	return func() { s.leaveNow(who) }, nil
}

// notStarted returns the reason why a member cannot end by request: grid.Start has not returned it.
func (s *membershipAPI) notStarted() error {
	if s.started.Load() {
		return nil
	}
	return failure.Errorf(wire.ErrNotNow, "grid: the member is starting and waits for its grid; end its process instead")
}

// leaveNow starts to leave, once. The goroutine ends with the member.
func (s *membershipAPI) leaveNow(who string) {
	if !s.leaving.CompareAndSwap(false, true) {
		return
	}
	s.log.Warn("member leaving by API request", "who", who)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), requestedLeave)
		defer cancel()
		if err := s.leave(ctx); err != nil {
			s.log.Error("member ended without leaving the grid cleanly", "error", err)
		}
	}()
}

func (s *membershipAPI) State(ctx context.Context) (membership.State, error) {
	suspecting, err := s.gossip.Suspecting(ctx)
	out := membership.State{Nodes: []string{}, Suspecting: append([]string{}, texts(suspecting)...),
		Failing: append([]string{}, texts(s.gossip.Failing())...)}
	for _, p := range s.gossip.Peers() {
		out.Nodes = append(out.Nodes, string(p.Incarnation))
	}
	return out, err
}

func (s *membershipAPI) Pause(ctx context.Context, d time.Duration) {
	s.log.Warn("debugging: gossip, Raft and calls between members are paused", "for", d, "who", api.WhoOf(ctx))
	s.gate.Shut(d)
}

func (s *membershipAPI) Shutdown(ctx context.Context, d time.Duration) (after func(), err error) {
	if err := s.notStarted(); err != nil {
		return nil, err
	}
	s.log.Warn("debugging: member will end", "after", d, "who", api.WhoOf(ctx))
	return func() { go s.closeAfter(d) }, nil
}

// closeAfter closes the member after d, unless that has ended before.
func (s *membershipAPI) closeAfter(d time.Duration) {
	select {
	case <-time.After(d):
		if err := s.close(); err != nil {
			s.log.Error("member ended with an error", "error", err)
		}
	case <-s.ctx.Done():
	}
}
