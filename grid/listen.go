package grid

import (
	"context"
	"errors"
	"net"
	"sync"

	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
)

// listeners are the member's open stream listeners; gossip opens its own.
type listeners struct {
	api net.Listener

	mu     sync.Mutex   // guards what follows
	raft   net.Listener // for one Raft node, which closes it
	used   bool         // it did
	closed bool
}

// listen opens the Raft address, through the members' network, and the API address, or neither.
func listen(cfg Config, members Network) (*listeners, error) {
	raft, err := members.Listen(cfg.RaftAddr)
	if err != nil {
		return nil, refusal.Invalid("RaftAddr: %v", err)
	}
	calls, err := cfg.Network.Listen(cfg.APIAddr)
	if err != nil {
		return nil, errors.Join(refusal.Invalid("APIAddr: %v", err), raft.Close())
	}
	return &listeners{raft: raft, api: calls}, nil
}

// addrs returns where others reach the listeners.
func (l *listeners) addrs(ctx context.Context, cfg Config) (Addrs, error) {
	raft, err := transport.Advertised(ctx, cfg.Network, l.raft.Addr().String(), cfg.AdvertiseHost)
	if err != nil {
		return Addrs{}, refusal.Invalid("RaftAddr: %v", err)
	}
	api, err := transport.Advertised(ctx, cfg.Network, l.api.Addr().String(), cfg.AdvertiseHost)
	if err != nil {
		return Addrs{}, refusal.Invalid("APIAddr: %v", err)
	}
	return Addrs{Raft: raft.String(), API: api.String()}, nil
}

// forRaft returns the listener for the next Raft node, opened again at the same
// address if an earlier node has closed it.
func (l *listeners) forRaft(n Network) (net.Listener, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, refusal.ErrClosed
	}
	if l.used {
		raft, err := n.Listen(l.raft.Addr().String())
		if err != nil {
			return nil, err
		}
		l.raft, l.used = raft, false
	}
	return l.raft, nil
}

// raftEnded notes that the Raft node has ended, and its listener with it.
func (l *listeners) raftEnded() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.raft.Close() // the node did
	l.used = true
}

// close closes the listeners; listeners in use were closed by their users already.
func (l *listeners) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	_ = l.raft.Close()
	_ = l.api.Close()
}
