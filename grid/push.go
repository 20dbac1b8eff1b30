package grid

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/follow"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Raft tells a server of a commit with its next message, so within a second or two. So
// the leader pushes each applied command to every member (package internal/roster/follow).

// servePush takes a push of the leader, and tells this member's view then.
func (o *leadership) servePush(ctx context.Context, in wire.PushRequest) (wire.PushResponse, error) {
	mono := o.clock.Mono()
	in, complete, err := o.pages.add(in)
	if err != nil || !complete {
		return wire.PushResponse{Mono: max(1, mono.Milliseconds())}, err
	}
	p, err := pushOf(in, mono)
	if err != nil {
		return wire.PushResponse{}, err
	}
	at, unfollowed, err := o.raft.Node().Push(p)
	if err != nil {
		return wire.PushResponse{}, wireErrorOf(err)
	}
	if unfollowed {
		o.follow(in.Leader)
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

// wireErrorOf returns the error of the API for one of a push.
func wireErrorOf(err error) error {
	if errors.Is(err, follow.ErrForeign) || errors.Is(err, follow.ErrBackward) {
		return errors.Join(wire.ErrBadRequest, err)
	}
	return err
}

// pushes are the rosters of other members, as far as a lead knows them.
type pushes struct {
	mu  sync.Mutex // guards of
	of  map[roster.Incarnation]*pushed
	was []roster.Member // of the roster that was pushed last
}

// pushed is one process of a member. What it says of its release is true for as long as it runs.
type pushed struct {
	at      follow.Position    // of the roster that it serves
	echo    int64              // its clock in the last answer
	view    wire.HelloResponse // its last answer, if it takes pushes
	takes   bool               // it takes pushes
	key     string             // that it stated as a learner, "" if it did not
	refuses bool               // its release does not know them
	busy    bool               // it is being told of a change
	again   bool               // there is another one
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

// ask asks a member for its view, and tells it of every command that it lacks. A member that
// takes no push is asked alone. The error matches leader.ErrAbsent as that of hello does.
func (l *lead) ask(ctx context.Context, api string, to roster.Incarnation) (wire.HelloResponse, error) {
	l.pushes.mu.Lock()
	known := *l.pushes.get(to)
	l.pushes.mu.Unlock()
	if known.refuses {
		return l.hello(ctx, api, to)
	}
	view, err := l.push(ctx, to, api, known)
	err = markAbsent(err)
	if err == nil || errors.Is(err, leader.ErrAbsent) || ctx.Err() != nil {
		return view, err
	}
	if errors.Is(err, wire.ErrUnknownPath) {
		l.pushes.mu.Lock()
		l.pushes.get(to).refuses = true
		l.pushes.mu.Unlock()
	}
	return l.hello(ctx, api, to)
}

// hello asks a member for its view. The error matches leader.ErrAbsent if it proves that the
// incarnation is not at the address.
func (l *lead) hello(ctx context.Context, api string, to roster.Incarnation) (wire.HelloResponse, error) {
	return helloFrom(ctx, l.of.caller, api, to)
}

// push makes one push, and returns the member's view.
func (l *lead) push(ctx context.Context, to roster.Incarnation, addr string, known pushed) (view wire.HelloResponse, err error) {
	req, err := l.pushSince(known)
	if err != nil {
		return view, err
	}
	var res wire.PushResponse
	for _, page := range pagesOf(req) {
		res = wire.PushResponse{}
		if err = l.callerFor(known).Call(ctx, addr, to, wire.PathPush, page, &res); err != nil {
			return view, err
		}
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

// callerFor returns the caller of a push. A learner that follows this lead, as its key shows, is
// addressed under the claim that it has: the push brings it the next one, as the Raft streams of an
// earlier claim bring it to a server (claimKept).
func (l *lead) callerFor(known pushed) api.Caller {
	c := l.of.caller
	if claim := known.view.Claim; known.key != "" && claim != "" {
		c.Claim = func() roster.Claim { return claim }
	}
	return c
}

// pushSince returns the push for a member. Nothing is sent that is only proposed: the node
// has applied it, or learned it so (F1). Of a member that has not answered yet the position
// is not known, and it is asked first.
func (l *lead) pushSince(known pushed) (wire.PushRequest, error) {
	age := int64(-1)
	if last := l.of.state.LastRaise(); last != nil { // before the commands, which may have a later one
		age = (l.of.clock.Mono() - last.At).Milliseconds()
	}
	var entries []follow.Entry
	var image follow.Image
	if known.takes {
		entries, image, _ = l.node.Since(known.at)
	}
	req, err := newPush(entries, image)
	if err == nil && isLarge(req) {
		req, err = newPush(nil, l.node.Image())
	}
	req.Leader, req.Echo, req.Age, req.Brief = string(l.node.Server), known.echo, age, known.takes
	req.Term, req.Key = l.node.LeadTerm(), known.key
	if known.key != "" {
		for _, s := range l.node.Voters() {
			req.Voters = append(req.Voters, string(s.ID))
		}
	}
	return req, err
}

// pushChanges tells every member of each change, until the lead ends.
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

// pushAll tells the members of a roster of it, and those that it has no longer.
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
	untold := 0
	for _, m := range targets {
		among[m.Incarnation] = true
		if m.Incarnation == l.of.self {
			continue
		}
		switch p := l.pushes.get(m.Incarnation); {
		case p.refuses:
			untold++
		case p.busy:
			p.again = true
		default:
			p.busy = true
			l.calls.Go(func() { l.inform(m) })
		}
	}
	for inc := range l.pushes.of {
		if !among[inc] {
			delete(l.pushes.of, inc)
		}
	}
	l.pushes.was = r.Members
	if untold > 0 {
		l.calls.Go(l.tellByRaft)
	}
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
			l.doIfDue(func(machine *leader.Leader, v leader.View) bool { return machine.Told(v, m.Incarnation, began, answer) })
		}
		now, over := l.pushes.end(m.Incarnation, l.node, err)
		switch {
		case over && now.refuses && err == nil:
			l.tellByRaft()
			return
		case over:
			return
		case before.takes && now.at == before.at: // its Raft server does not follow this one yet
			select {
			case <-ctx.Done():
			case <-time.After(tellAgain):
			}
		}
	}
}

// begin returns a member's record before it is told of everything there is now.
func (p *pushes) begin(of roster.Incarnation) pushed {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.get(of)
	r.again = false
	return *r
}

// end returns a member's record afterwards, and whether it need not be told anything more.
func (p *pushes) end(of roster.Incarnation, node *raftlog.Node, err error) (now pushed, over bool) {
	_, _, newest := node.Since(0)
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.get(of)
	over = err != nil || !r.takes || !r.again && r.at >= newest
	r.busy = !over
	return *r, over
}

// tellByRaft has Raft tell its servers of the last commit now: with an entry without a
// command, for members that take no pushes.
func (l *lead) tellByRaft() { _ = l.node.Barrier() }

const (
	// timeToTell bounds how long a member is told of a change.
	timeToTell = time.Second
	tellAgain  = 50 * time.Millisecond
)
