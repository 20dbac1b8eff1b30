package grid

import (
	"context"
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/grid/wire"
	"github.com/snowgrid/snowgrid/partition"
)

// An owner whose joining replica holds the table asks the leader to admit it. The
// request is good for one version of the roster only; at a later one the replica
// is asked anew what it holds (R5).

const (
	// admissionDelay is how long requests are gathered into one call.
	admissionDelay = 5 * time.Millisecond
	admissionRetry = 100 * time.Millisecond
	// admissionAgain is when the leader is told again: it may be another one.
	admissionAgain = time.Second
)

// reportHeld has the leader told, together with what else there is to tell.
func (m *Member) reportHeld(h partition.Holding) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held[h.Replica] = h.Version
	if !m.reporting {
		m.reporting = true
		m.background(m.reportAllHeld)
	}
}

// reportAllHeld tells the leader, whoever it is, as long as the roster's version
// makes it worth telling.
func (m *Member) reportAllHeld(ctx context.Context) {
	for pause := admissionDelay; ; {
		sleep(ctx, pause)
		req := wire.HeldRequest{Owner: m.self, Held: m.heldNow()}
		if len(req.Held) == 0 || ctx.Err() != nil {
			return
		}
		pause = admissionAgain
		if err := m.reportTo(ctx, req); err != nil {
			m.log.Debug("the leader was not told yet which replicas are ready", "error", err)
			pause = admissionRetry
		}
	}
}

// reportTo tells the leader, which may be this member.
func (m *Member) reportTo(ctx context.Context, req wire.HeldRequest) error {
	if m.node().leads() {
		_, err := m.serveHeld(ctx, req)
		return err
	}
	return m.atLeader(ctx, wire.PathHeld, req)
}

// heldNow returns what is worth telling, forgets what no longer is, and with
// nothing left ends the telling.
func (m *Member) heldNow() []partition.Holding {
	version := m.roster.Load().Version
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []partition.Holding
	for r, v := range m.held {
		if v < version {
			delete(m.held, r)
		} else {
			out = append(out, partition.Holding{Replica: r, Version: v})
		}
	}
	m.reporting = len(out) > 0
	return out
}

// serveHeld notes, at the leader, which joining replicas hold their tables. What
// is not by the owner, or of another version than the roster's, is no use.
func (m *Member) serveHeld(_ context.Context, in wire.HeldRequest) (wire.MemberResponse, error) {
	if !m.node().leads() {
		return wire.MemberResponse{}, errNotLeader
	}
	r := m.roster.Load()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range in.Held {
		if int(h.Partition) >= len(r.Partitions) {
			return wire.MemberResponse{}, invalid("there is no partition %d, only %d of them", h.Partition, len(r.Partitions))
		}
		if h.Version > r.Version {
			return wire.MemberResponse{}, fmt.Errorf("%w: the leader has applied version %d only", errNotLeader, r.Version)
		}
		if h.Version == r.Version && r.Partitions[h.Partition].Owner == in.Owner {
			m.joined[h.Replica] = h.Version
		}
	}
	return wire.MemberResponse{Version: r.Version}, nil
}

// ready returns, at the leader, the joining replicas that may be admitted, and
// forgets those that no longer may.
func (m *Member) ready(r *partition.Roster) []partition.Holding {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []partition.Holding
	for replica, v := range m.joined {
		if v < r.Version {
			delete(m.joined, replica)
		} else {
			out = append(out, partition.Holding{Replica: replica, Version: v})
		}
	}
	return out
}
