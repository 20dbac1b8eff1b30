package grid

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/follow"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Raft announces a commit to a server with its next message, within a second or two. The leader
// therefore pushes each applied command to every member (package internal/roster/follow).

// servePush applies a push from the leader, and replies with this member's view.
func (o *leadership) servePush(ctx context.Context, in wire.PushRequest) (wire.PushResponse, error) {
	mono := o.clock.Mono()
	in, complete, err := o.pages.add(in)
	if err != nil || !complete {
		return wire.PushResponse{Mono: max(1, mono.Milliseconds())}, err
	}
	p, err := pushOf(in, ageAt(in, mono))
	if err != nil {
		return wire.PushResponse{}, err
	}
	at, unfollowed, err := o.raft.Node().Push(p)
	if err != nil {
		if errors.Is(err, follow.ErrForeign) || errors.Is(err, follow.ErrBackward) {
			err = errors.Join(wire.ErrBadRequest, err)
		}
		return wire.PushResponse{}, err
	}
	if unfollowed {
		o.follow(in.Leader)
	}
	if err := o.raft.Muted(); err != nil { // it follows the roster nevertheless
		return wire.PushResponse{}, err
	}
	hello, err := o.ownView(ctx, wire.HelloRequest{})
	res := wire.PushResponse{At: uint64(at), Mono: max(1, mono.Milliseconds())}
	if in.Brief {
		res.Brief = hello.Brief()
	} else {
		res.Hello = &hello
	}
	return res, err
}

// pushes tracks the rosters of other members during a lead.
type pushes struct {
	mu  sync.Mutex // guards of
	of  map[roster.Incarnation]*pushed
	was []roster.Member // members of the last pushed roster
}

// pushed is one process of a member. Its release is constant for the life of the process.
type pushed struct {
	at    follow.Position    // position of the roster that it serves
	echo  int64              // its clock in the last answer
	view  wire.HelloResponse // its last answer, if it takes pushes
	takes bool               // it takes pushes
	key   string             // that it stated as a learner, "" if it did not
	busy  bool               // a change is being pushed to it
	again bool               // there is another one
}

// get returns a member's record. The caller has the lock.
func (p *pushes) get(of roster.Incarnation) *pushed {
	if p.of == nil {
		p.of = map[roster.Incarnation]*pushed{}
	}
	if p.of[of] == nil {
		p.of[of] = &pushed{}
	}
	return p.of[of]
}

// ask requests a member's view, and pushes every command that it lacks. If the push fails, it only
// makes the request. The error matches leader.ErrAbsent as in hello.
func (l *lead) ask(ctx context.Context, api string, to roster.Incarnation) (wire.HelloResponse, error) {
	l.pushes.mu.Lock()
	known := *l.pushes.get(to)
	l.pushes.mu.Unlock()
	view, err := l.push(ctx, to, api, known)
	err = markAbsent(err)
	if err == nil || errors.Is(err, leader.ErrAbsent) || ctx.Err() != nil {
		return view, err
	}
	return l.hello(ctx, api, to)
}

// hello requests a member's view. The error matches leader.ErrAbsent if it proves that the
// incarnation is not at the address.
func (l *lead) hello(ctx context.Context, api string, to roster.Incarnation) (wire.HelloResponse, error) {
	return helloFrom(ctx, l.of.caller, api, to)
}

func (l *lead) push(ctx context.Context, to roster.Incarnation, addr string, known pushed) (view wire.HelloResponse,
	err error) {
	req, err := l.pushSince(known)
	if err != nil {
		return view, err
	}
	res, err := sendPush(ctx, l.callerFor(known), addr, to, req)
	if errors.Is(err, wire.ErrNotAddressed) && l.unclaim(to, known) {
		res, err = sendPush(ctx, l.of.caller, addr, to, req)
	}
	if err != nil {
		return view, err
	}
	switch {
	case req.Brief && res.Brief != nil: // the call named its grid
		view = known.view.With(*res.Brief)
	case res.Hello != nil:
		view = *res.Hello
	default:
		return view, failure.Errorf(sequencer.ErrUnavailable, "grid: member %s answered a push without its view", to)
	}
	if err = view.Release.Check(); err != nil {
		return view, err
	}
	l.pushes.mu.Lock()
	defer l.pushes.mu.Unlock()
	now := l.pushes.get(to)
	now.takes, now.view, now.at, now.echo = true, view, max(now.at, follow.Position(res.At)), max(now.echo, res.Mono)
	return view, nil
}

// sendPush sends a push, in pages if it is large, and returns the answer to the last one.
func sendPush(ctx context.Context, by api.Caller, addr string, to roster.Incarnation,
	req wire.PushRequest) (res wire.PushResponse, err error) {
	for _, page := range pagesOf(req) {
		res = wire.PushResponse{}
		if err = by.Call(ctx, addr, to, wire.PathPush, page, &res); err != nil {
			return res, err
		}
	}
	return res, nil
}

// unclaim forgets the anchor claim of a learner that has refused a push under it, and reports whether that was an
// earlier one. The learner has this lead's claim if its answer to the push with it was lost, or came before an older
// answer.
func (l *lead) unclaim(of roster.Incarnation, known pushed) bool {
	claim := known.view.Claim
	if known.key == "" || claim == "" || claim == l.of.caller.Claim() {
		return false
	}
	l.pushes.mu.Lock()
	defer l.pushes.mu.Unlock()
	if r := l.pushes.get(of); r.view.Claim == claim {
		r.view.Claim = ""
	}
	return true
}

// callerFor returns the caller for a push. A learner that follows this lead, as its key proves, is
// addressed under its own anchor claim: the push brings it the next claim, as the Raft streams of
// an earlier claim bring it to a server (claimKept).
func (l *lead) callerFor(known pushed) api.Caller {
	c := l.of.caller
	if claim := known.view.Claim; known.key != "" && claim != "" {
		c.Claim = func() roster.Claim { return claim }
	}
	return c
}

// pushSince returns the push for a member. It contains no entry that is only proposed: the node has
// applied it, or learned it so (F1). The position of a member that has not replied yet is unknown,
// and is requested first.
func (l *lead) pushSince(known pushed) (wire.PushRequest, error) {
	var entries []follow.Entry
	var image follow.Image
	if known.takes {
		entries, image, _ = l.node.Since(known.at)
	}
	req, err := newPush(entries, image)
	if err == nil && isLarge(req) {
		req, err = newPush(nil, l.node.Image())
	}
	req.Leader, req.Echo, req.Brief = string(l.node.Server), known.echo, known.takes
	req.Time = l.of.state.RaisedTime()
	req.Term, req.Key = l.node.LeadTerm(), known.key
	if known.key != "" {
		for _, s := range l.node.Voters() {
			req.Voters = append(req.Voters, string(s.ID))
		}
	}
	return req, err
}

// pushChanges pushes each change to every member, until the lead ends.
func (l *lead) pushChanges() {
	var told follow.Position
	for {
		changed := l.of.state.Changed()
		if _, _, newest := l.node.Since(told); newest > told {
			told = newest
			l.pushAll(l.of.state.Roster())
		}
		select {
		case <-l.ctx.Done():
			return
		case <-changed:
		}
	}
}

// pushAll pushes a roster to its members, and to the removed ones.
func (l *lead) pushAll(r *roster.Roster) {
	l.pushes.mu.Lock()
	defer l.pushes.mu.Unlock()
	targets := slices.Clone(r.Members)
	among := map[roster.Incarnation]bool{}
	for _, m := range l.pushes.was {
		if _, still := r.Member(m.Incarnation); !still {
			targets = append(targets, m)
		}
	}
	for _, m := range targets {
		among[m.Incarnation] = true
		if m.Incarnation.Member() == l.of.self.Member() { // or a process with a copy of its data, which follows another log
			continue
		}
		switch p := l.pushes.get(m.Incarnation); {
		case p.busy:
			p.again = true
		default:
			p.busy = true
			l.calls.Go(func() { l.inform(m) })
		}
	}
	maps.DeleteFunc(l.pushes.of, func(inc roster.Incarnation, _ *pushed) bool { return !among[inc] })
	l.pushes.was = r.Members
}

// inform brings one member up to date. Its answer counts like one to a probe; a failure is
// left to the next probe.
func (l *lead) inform(m roster.Member) {
	ctx, cancel := context.WithTimeout(l.ctx, timeToTell)
	defer cancel()
	for {
		before, began := l.pushes.begin(m.Incarnation), l.of.clock.Mono()
		hello, err := l.ask(ctx, m.API, m.Incarnation)
		if err == nil {
			answer := l.answered(m.Incarnation, hello, began)
			l.doIfDue(func(machine *leader.Leader, v leader.View) bool {
				return machine.PushAnswered(v, m.Incarnation, began, answer)
			})
		}
		now, over := l.pushes.end(m.Incarnation, l.node, err)
		switch {
		case over:
			return
		case before.takes && now.at == before.at: // its Raft server does not follow this one yet
			signal.Sleep(ctx, tellAgain)
		}
	}
}

// begin returns a member's record before a push of the current state.
func (p *pushes) begin(of roster.Incarnation) pushed {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.get(of)
	r.again = false
	return *r
}

// end returns a member's record afterwards, and whether it needs no further push.
func (p *pushes) end(of roster.Incarnation, node *raftlog.Node, err error) (now pushed, over bool) {
	_, _, newest := node.Since(0)
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.get(of)
	over = err != nil || !r.takes || !r.again && r.at >= newest
	r.busy = !over
	return *r, over
}

const (
	// timeToTell bounds the push of one change to one member.
	timeToTell = time.Second
	tellAgain  = 50 * time.Millisecond
)
