package gossip

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// subscribesMax bounds the members that are joined by request concurrently, and
// subscribeAddrsMax the addresses of a name that are tried.
const (
	subscribesMax     = 8
	subscribeAddrsMax = 4
)

// Subscribe joins a member at a gossip address, a host:port, on request. It returns when both have
// exchanged their members. A member of another grid is wire.ErrForeignGrid, this member's own address
// wire.ErrBadRequest, and no answer sequencer.ErrUnavailable.
func (g *Gossip) Subscribe(ctx context.Context, addr string) error {
	select {
	case g.subscribes <- struct{}{}:
		defer func() { <-g.subscribes }()
	default:
		return failure.Errorf(sequencer.ErrUnavailable, "grid: %d members are joined by request already; try again",
			subscribesMax)
	}
	addrs, err := transport.Lookup(ctx, g.cfg.Network, addr, g.cfg.JoinPort)
	failed := []error{err}
	for _, at := range addrs[:min(len(addrs), subscribeAddrsMax)] {
		if at == g.Addr() {
			return failure.Errorf(wire.ErrBadRequest, "grid: %s is this member; give the address of another one", at)
		}
		if err := g.join(at); err == nil || errors.Is(err, wire.ErrForeignGrid) {
			return err
		} else {
			failed = append(failed, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	// The caller receives a generic text: the cause describes this host and its network.
	g.cfg.Log.Info("no member joined by request", "addr", addr, "error", errors.Join(failed...))
	return failure.Errorf(sequencer.ErrUnavailable,
		"grid: no member of this grid answers gossip at %.100s; check the address, start the member there, and try again "+
			"(the log of this member has the cause)", addr)
}

// join exchanges states with the member at an IP:port, unless it is already a peer.
func (g *Gossip) join(addr string) error {
	if _, known := g.Find(func(p Peer) bool { return p.Gossip == addr }); known {
		return nil
	}
	_, err := g.list.Join([]string{addr})
	if err == nil {
		return nil
	}
	if name := g.transport.Refusal(); name != nil && name.By == transport.ByName && name.Addr == addr {
		return failure.Errorf(wire.ErrForeignGrid, "%w", name)
	}
	if key := g.transport.KeyRefusal(); key != nil && key.Addr == addr {
		return key
	}
	if strings.Contains(err.Error(), errForeign.Error()) { // memberlist keeps the text alone
		return failure.Errorf(wire.ErrForeignGrid, "grid: the member at %s belongs to another grid of the same name; %s",
			addr, ForeignAdvice)
	}
	return fmt.Errorf("%s: %w", addr, err)
}
