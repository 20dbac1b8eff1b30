package grid

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// A process without a reply from an owner requests a notification from another member when there is
// a new owner. That is a sign that the owner is silent. The member forwards it to the leader, which
// probes the owner now and not with its next heartbeat; and if the leader itself is awaited, or
// does not answer, the member probes the leader. A failure that blocks a request is thus detected
// soon, and an idle grid needs few probes. A failed gossip probe is a sign, too. A sign decides
// nothing.
//
// A member that forwards a request to the owner and gets no reply does the same.
//
//	holder                        member                           leader
//	   |  -- not at this owner? -->  |                                |
//	   |                             |  --- the same, no wait --->    |  probes the owner
//	   |                             |  (no answer: looks at it)      |

// signEvery is the least time between two signs of one kind and member that are taken in.
const signEvery = 250 * time.Millisecond

// recent are the last signs of members. Its zero value is ready.
type recent struct {
	mu   sync.Mutex // guards last
	last map[roster.Incarnation]time.Duration
}

// note reports whether a sign of a member is due, and notes it.
func (a *recent) note(of roster.Incarnation, now time.Duration) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if last, known := a.last[of]; known && now-last < signEvery {
		return false
	}
	maps.DeleteFunc(a.last, func(_ roster.Incarnation, last time.Duration) bool { return now-last >= signEvery })
	if a.last == nil {
		a.last = map[roster.Incarnation]time.Duration{}
	}
	a.last[of] = now
	return true
}

// unreached has the leader look at a member that may have ended or, with slow set, may be silent. It does not
// block: Raft, gossip and connections wait for this call.
func (o *leadership) unreached(server leader.ServerID, slow bool) {
	if l := o.current.Load(); l != nil {
		o.life.Background(func(context.Context) {
			l.do(func(machine *leader.Leader, v leader.View) { machine.Unreached(v, server, slow) })
		})
	}
}

// refusedProbe has gossip suspect a member that refuses the leader's calls: where its process has
// ended, gossip need not find that out by probes. A member that lives refutes it.
func (o *leadership) refusedProbe(of roster.Incarnation) {
	if !o.refusals.note(of, o.clock.Mono()) {
		return
	}
	o.life.Background(func(ctx context.Context) {
		if err := o.gossip.Suspect(ctx, of); err != nil {
			o.log.Debug("member that refuses calls not reported to gossip", "member_refusing", string(of), "error", err)
		}
	})
}

// unanswered records a failed gossip probe.
func (o *leadership) unanswered(inc roster.Incarnation) {
	m, member := o.state.Roster().Member(inc)
	if !member || inc == o.self {
		return
	}
	switch id := leader.ServerOf(m.Incarnation, m.Durable); {
	case o.current.Load() != nil:
		o.unreached(id, true)
	case o.raft.Node().Leader() == string(id):
		o.monitor.sign()
	default:
		o.host.Doubt(inc)
	}
}

// disconnected records the end of the connection to a member's address. That is the first sign that
// a process has ended: Raft's next heartbeat to it may be a second away.
func (o *leadership) disconnected(addr string) {
	for _, m := range o.state.Roster().Members {
		if m.API != addr || m.Incarnation == o.self {
			continue
		}
		switch id := leader.ServerOf(m.Incarnation, m.Durable); {
		case o.current.Load() != nil:
			o.unreached(id, false)
		case o.raft.Node().Leader() == string(id):
			o.monitor.sign()
		}
	}
}

// awaited records a request for another owner in place of a member.
func (o *leadership) awaited(in wire.DirectoryRequest, owner roster.Member) {
	if owner.Incarnation == "" || owner.Incarnation == o.self || o.lone ||
		!o.awaits.note(owner.Incarnation, o.clock.Mono()) {
		return
	}
	id := leader.ServerOf(owner.Incarnation, owner.Durable)
	switch at := o.raft.Node().Leader(); {
	case o.current.Load() != nil:
		o.unreached(id, true)
	case at == string(id):
		o.monitor.sign()
	case at != "" && in.Wait > 0: // it is not passed on itself
		o.life.Background(func(ctx context.Context) { o.passOn(ctx, at, in) })
	}
}

// passOn passes a request for another owner on to the leader. A leader that does not answer is
// looked at.
func (o *leadership) passOn(ctx context.Context, to string, in wire.DirectoryRequest) {
	at, known := o.formation.AddressOf(to)
	if !known {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	r := o.state.Roster()
	in.Wait, in.Known = 0, &wire.DirectoryVersion{Grid: r.Identity(), Version: r.Version}
	if err := o.caller.Call(ctx, at.API, at.Incarnation, wire.PathDirectory, in, &wire.DirectoryResponse{}); err != nil {
		o.log.Debug("awaited member not reported to the leader", "error", err)
		o.monitor.sign()
	}
}
