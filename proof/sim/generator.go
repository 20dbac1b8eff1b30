package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/grants"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/proof/ledger"
	"github.com/snowgrid/snowgrid/sequencer"
)

// generator is a process in another language: package grants, which has nothing but the rules of
// docs/grants.md, and calls to any member.
type generator struct {
	process
	g       *grid
	index   int // of the name
	def     sequencer.Definition
	machine *grants.Generator
	held    []heldGrant      // in the order of their replies
	target  clustertime.Tick // its time for the next IDs
	made    time.Duration    // when the last ID was made
	ends    bool             // it has released its grant
}

// heldGrant is a grant in a reply, with its attachment.
type heldGrant struct {
	ref attachment.Ref
	of  attachment.Attachment
}

// generatorTurn is the interval at which a generator looks whether a request is due.
const generatorTurn = 100 * time.Millisecond

// newGenerator starts a generator, with the machine of a forked parent or without a grant.
func (g *grid) newGenerator(machine *grants.Generator, index int) {
	g.holderCount++
	p := &generator{
		process: g.w.process(fmt.Sprintf("g%d", g.holderCount), holderPlaces+g.holderCount), g: g, index: index,
		def: g.names[index], machine: machine,
	}
	g.generators = append(g.generators, p)
	p.every(generatorTurn, p.turn)
	p.after(0, p.emit)
}

// addGenerator starts a generator without a grant.
func (g *grid) addGenerator() { g.newGenerator(grants.New(g.w.rng.Int64N), g.w.rng.IntN(len(g.names))) }

// endGenerator ends a generator without notice.
func (g *grid) endGenerator(p *generator) {
	p.alive = false
	g.generators = slices.DeleteFunc(g.generators, func(have *generator) bool { return have == p })
	g.ledger.Forget(p.name)
}

// at returns the reading of the process's monotonic clock in whole milliseconds, rounded down.
func (p *generator) at() int64 { return p.Mono().Milliseconds() }

// turn sends a request that is due, and has something happen to the process at times.
func (p *generator) turn() {
	if !p.g.calm && !p.ends {
		p.befall()
	}
	if due, ready := p.machine.Due(); p.alive && ready && due <= p.at() {
		p.request()
	}
}

// befall has the process end, release its grant, fork, pause, lose its connection to a member, or get
// a clock that runs at a wrong rate.
func (p *generator) befall() {
	nm := &p.g.nemesis
	switch p.w.rng.IntN(1500) {
	case 0:
		p.g.endGenerator(p)
		p.g.addGenerator()
	case 1:
		p.ends = true
		p.release()
		p.after(2*time.Second, func() { // a released grant makes no ID
			p.g.endGenerator(p)
			p.g.addGenerator()
		})
	case 2, 3:
		child := *p.machine
		child.Forked()
		p.g.newGenerator(&child, p.index)
		if len(p.g.generators) > generatorsMax {
			p.g.endGenerator(p.g.generators[0])
		}
	case 4, 5, 6, 7:
		p.until = max(p.until, p.w.now+nm.span())
	case 8, 9:
		if m := p.g.someMember(); m != nil {
			p.w.net.cut[[2]int{p.place, m.place}] = p.w.now + nm.span()
			p.w.net.cut[[2]int{m.place, p.place}] = p.w.now + nm.span()
		}
	case 10, 11:
		nm.turn(&p.process)
	}
}

// request sends one request to any member (G8).
func (p *generator) request() {
	machine, began, at := p.machine, p.w.now, p.at()
	grant := machine.Request(at)
	of := pick(p.w, p.g.seats)
	if running := p.g.someMember(); p.g.calm && running != nil { // most seats may be gone for good
		of = running.seat
	}
	to, m := p.g.at(of.addr())
	call(&p.process, to, requestTimeout, func(reply func(answer[grantReply])) {
		m.grant(grant, p.def, true, reply)
	}, func(a answer[grantReply], err error) {
		if err == nil {
			err = a.err
		}
		if p.machine != machine {
			return
		}
		if err != nil {
			p.refused(err)
			return
		}
		p.replied(a, began, grant == "")
	})
}

const (
	requestTimeout = 2 * time.Second
	generatorsMax  = 20
)

// replied applies a reply to a request that was sent at began.
func (p *generator) replied(a answer[grantReply], began time.Duration, first bool) {
	g, r := p.g, a.value
	if first {
		g.check(g.promises.checkTold(r.ref, began, a.stamp))
	}
	g.check(g.checkAlive(p.name, r.ref, began, a.stamp))
	h := heldGrant{r.ref, r.of}
	p.w.note(granted, p.name, int64(r.of.Grant.From), int64(r.of.Grant.Until))
	g.check(g.ledger.Granted(p.holding(h), r.of.Grant))
	p.held = append(p.held, h)
	if r.Replaced {
		g.counts.Replaced++
	}
	p.machine.Replied(p.at(), r.Reply)
}

// refused applies a failed request. After a destroy it starts again without a grant.
func (p *generator) refused(err error) {
	var code string
	switch {
	case errors.Is(err, sequencer.ErrDestroyed):
		code = "destroyed"
		if n := len(p.held); n > 0 {
			p.g.check(p.g.checkEnded(p.name, p.held[n-1].ref))
		}
	case errors.Is(err, sequencer.ErrDetached):
		code = "detached"
	}
	p.machine.Refused(p.at(), grants.Refusal{Code: code})
	if code == "destroyed" {
		p.w.note(destroyed, p.name, int64(p.index), -1)
		p.g.ledger.Forget(p.name)
		p.machine, p.held = grants.New(p.w.rng.Int64N), nil
	}
}

func (p *generator) holding(h heldGrant) ledger.Holding {
	return ledger.Holding{Name: p.def.Name(), Node: h.of.Node, ID: h.of.ID}
}

// emit makes IDs whenever the generator's time reaches a multiple of the step, as holders do.
func (p *generator) emit() {
	now, step := clustertime.Tick(p.machine.Time(p.at())), p.g.cfg.Step
	p.target = min(p.target, now-now%step+step)
	if now >= p.target {
		p.target = now - now%step + step
		p.issue()
	}
	p.after(time.Duration(min(p.target-now, 100))*time.Millisecond, p.emit)
}

// issue makes some IDs, and records them in the ledger by their attachments.
func (p *generator) issue() {
	n := 1 + p.w.rng.IntN(p.g.cfg.Batch)
	if p.w.chance(0.0005) {
		n = 70_000 // more than fit into a millisecond
	}
	var ids []sequencer.ID
	var of heldGrant
	for range n {
		id, _, err := p.machine.Next(p.at())
		if id == 0 || err != nil {
			break
		}
		by, found := p.grantOf(sequencer.ID(id))
		if !found {
			p.g.check(fmt.Errorf("%w: generator %s made ID %d: %v", ledger.ErrOutside, p.name, id, p.machine))
			return
		}
		if by.of.ID != of.of.ID {
			p.issued(of, ids)
			ids, of = nil, by
		}
		ids = append(ids, sequencer.ID(id))
	}
	p.issued(of, ids)
}

func (p *generator) issued(of heldGrant, ids []sequencer.ID) {
	if len(ids) == 0 {
		return
	}
	p.made = p.w.now
	p.g.counts.Generated += int64(len(ids))
	p.w.note(issued, p.name, int64(ids[0]), int64(len(ids)))
	p.g.check(p.g.ledger.Issued(p.name, p.holding(of), p.def, ids))
}

// grantOf returns the grant under which an ID was made, and forgets those that ended before it.
func (p *generator) grantOf(id sequencer.ID) (of heldGrant, found bool) {
	parts := p.def.Decompose(id)
	at := clustertime.TickOf(parts.Time)
	p.held = slices.DeleteFunc(p.held, func(h heldGrant) bool { return h.of.Grant.Until <= at && len(p.held) > 1 })
	for _, h := range p.held {
		if h.of.Node == parts.Node && h.of.Grant.From <= at && at < h.of.Grant.Until {
			return h, true
		}
	}
	return heldGrant{}, false
}

// release releases the grant, with one request to any member (G10).
func (p *generator) release() {
	grant, last := p.machine.Release()
	token, err := wire.ParseGrantToken(grant)
	if err != nil {
		return
	}
	rel := attachment.Release{ID: token.ID(), Node: token.Node, LastUsed: clustertime.Tick(last)}
	p.w.note(released, p.name, int64(rel.Node), last)
	p.g.ledger.Released(ledger.Holding{Name: p.def.Name(), Node: rel.Node, ID: rel.ID}, rel.LastUsed)
	to, m := p.g.at(pick(p.w, p.g.seats).addr())
	p.w.net.send(&p.process, to, func() { m.releaseGrant(token, rel, true) })
}
