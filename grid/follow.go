package grid

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/follow"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// A learner has no Raft server in the configuration, and follows the leader by its pushes:
//
//	learner                                        leader
//	   |  <---------- push, without a key ----------  |   not believed
//	   |  ----- PathFollow, at its address: key --->  |
//	   |  <-- the commands or the roster it lacks --  |
//	   |  <--------------- push, key ---------------  |   believed

// followTimeout bounds the call by which a learner begins to follow a leader.
const followTimeout = time.Second

func (o *leadership) follow(id string) {
	if !o.following.CompareAndSwap(false, true) {
		return // it pushes again
	}
	o.life.Background(func(ctx context.Context) {
		defer o.following.Store(false)
		ctx, cancel := context.WithTimeout(ctx, followTimeout)
		defer cancel()
		if err := o.askToFollow(ctx, id); err != nil {
			o.log.Debug("no leader is followed yet", "leader", id, "error", err)
		}
	})
}

func (o *leadership) askToFollow(ctx context.Context, id string) error {
	at, known := o.formation.AddressOf(id)
	if !known {
		return failure.Errorf(wire.ErrNotNow, "grid: no address for server %.80q", id)
	}
	node, key := o.raft.Node(), rand.Text()
	var res wire.PushRequest
	asked := o.clock.Mono()
	if err := o.caller.Call(ctx, at.API, at.Incarnation, wire.PathFollow,
		wire.FollowRequest{Incarnation: o.self, Key: key, At: uint64(node.Served())}, &res); err != nil {
		return err
	}
	p, err := pushOf(res, o.clock.Mono()-asked)
	if err != nil {
		return err
	}
	if p.Leader != id {
		return failure.Errorf(wire.ErrNotNow, "grid: server %.80q answers for %.80q", res.Leader, id)
	}
	p.Key = key
	follows, err := node.Follow(p)
	if follows {
		o.host.LeaderChanged()
		o.now.Send()
	}
	return err
}

// serveFollow registers a member's push key, and replies with the commands or the roster that the
// member lacks.
func (o *leadership) serveFollow(_ context.Context, in wire.FollowRequest) (wire.PushRequest, error) {
	if in.Key == "" || len(in.Key) > wire.MaxKey {
		return wire.PushRequest{}, failure.Errorf(wire.ErrBadRequest,
			"grid: a learner's key has %d characters; give 1 to %d", len(in.Key), wire.MaxKey)
	}
	l := o.current.Load()
	if l == nil || !l.node.Leads() {
		return wire.PushRequest{}, refusal.ErrNotLeader
	}
	if _, member := o.state.Roster().Member(in.Incarnation); !member {
		return wire.PushRequest{}, failure.Errorf(wire.ErrNotNow, "grid: %.80q is not in the roster", string(in.Incarnation))
	}
	res, err := l.pushSince(l.pushes.follow(in.Incarnation, in.Key, follow.Position(in.At)))
	if res.Key = ""; len(res.Roster) > wire.PushPage {
		res.Roster, res.At = nil, 0 // pushes bring it, in pages
	}
	return res, err
}

// follow records a member's push key, and returns its record.
func (p *pushes) follow(of roster.Incarnation, key string, at follow.Position) pushed {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.get(of)
	r.key = key
	known := *r
	known.takes, known.at = true, at
	return known
}
