// Package grants is the generator of docs/grants.md, with nothing but its rules (G1 to G12). The Go clients
// of package client do not use it: it is the model for clients in other languages. The cases in
// clients/conformance.json are made by it.
//
// It is a state machine. Times are whole milliseconds: At is a reading of the process's monotonic clock, and a
// timestamp is Unix time.
package grants

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Reply is the reply to POST /v1/grants.
type Reply struct {
	Grant     string `json:"grant"`
	Replaced  bool   `json:"replaced"`
	Node      int64  `json:"node"`
	Epoch     int64  `json:"epoch"`
	TimeShift int    `json:"time_shift"`
	NodeShift int    `json:"node_shift"`
	Counters  int64  `json:"counters"`
	From      int64  `json:"from"`
	Until     int64  `json:"until"`
	Now       int64  `json:"now"`
	RenewIn   int64  `json:"renew_in_ms"`
	Ends      int64  `json:"ends"`
}

// Refusal is a request without a grant in its reply. Code is the error code, "" without a reply.
type Refusal struct {
	Code       string `json:"code,omitempty"`
	RetryAfter int64  `json:"retry_after_ms,omitempty"`
}

// Errors of [Generator.Next]: no ID will ever be made.
var (
	ErrDestroyed = errors.New("grants: the sequencer was destroyed")
	ErrExhausted = errors.New("grants: the sequencer has no timestamps left")
	ErrReleased  = errors.New("grants: the generator has ended")
)

const (
	timesMax   = 10     // replies whose times count (G2)
	timesFor   = 60_000 // ms for which the time of a reply counts after it (G2)
	firstPause = 300    // ms, after a failure (G8)
	lastPause  = 3000   // ms
)

// span is a range of timestamps of one node: from <= t < until.
type span struct{ node, from, until int64 }

// reading is the time that a reply showed when it was received: the grid's time minus At.
type reading struct{ at, offset int64 }

// Generator makes the IDs of one process under one grant. It is not safe for concurrent use.
type Generator struct {
	jitter func(below int64) int64 // 0 to below-1

	grant  string
	layout Reply     // its fields that depend on the sequencer alone
	spans  []span    // in the order of their use
	times  []reading // of the last replies
	ahead  int64     // the grid's time is At and this (G2)
	due    int64     // when to send the next request
	pause  int64     // after the next failure
	asked  bool      // a request has no result yet

	last, node, counter int64 // of the last ID; counter is the next one
	err                 error // ends the generator
}

// New returns a generator without a grant. jitter returns a random number from 0 to below-1.
func New(jitter func(below int64) int64) *Generator {
	return &Generator{jitter: jitter, pause: firstPause, last: -1}
}

// Time returns the grid's time (G2).
func (g *Generator) Time(at int64) int64 { return at + g.ahead }

// Due returns when the next request is to be sent, and whether none is in progress (G8).
func (g *Generator) Due() (at int64, ready bool) { return g.due, !g.asked && g.err == nil }

// Request returns the grant to send, "" to take one.
func (g *Generator) Request(at int64) (grant string) {
	g.asked = true
	g.due = at
	return g.grant
}

// Replied applies a reply that was received at a time.
func (g *Generator) Replied(at int64, r Reply) {
	g.asked, g.pause = false, firstPause
	if g.err != nil {
		return
	}
	g.grant, g.layout, g.due = r.Grant, r, at+r.RenewIn
	g.times = slices.DeleteFunc(g.times, func(t reading) bool { return t.at < at-timesFor })
	g.times = append(g.times, reading{at, r.Now - at})
	g.times = g.times[max(0, len(g.times)-timesMax):]
	g.ahead = slices.MaxFunc(g.times, func(a, b reading) int { return cmp.Compare(a.offset, b.offset) }).offset
	now := g.Time(at)
	g.spans = slices.DeleteFunc(g.spans, func(s span) bool { return s.until <= now && s.until <= r.From })
	n := len(g.spans)
	if n > 0 && g.spans[n-1].node == r.Node && r.From <= g.spans[n-1].until { // no gap (G7)
		g.spans[n-1].until = max(g.spans[n-1].until, r.Until) // G5
		return
	}
	if r.From < r.Until {
		g.spans = append(g.spans, span{r.Node, r.From, r.Until}) // G6
	}
}

// Refused applies a request that got no grant (G8, G12).
func (g *Generator) Refused(at int64, r Refusal) {
	g.asked = false
	switch r.Code {
	case "destroyed":
		g.err = ErrDestroyed
	case "detached": // it was released (G10)
		g.grant, g.spans = "", nil
	}
	g.due = at + max(r.RetryAfter, g.pause-g.jitter(g.pause/2))
	g.pause = min(2*g.pause, lastPause)
}

// Next returns an ID, or the time to wait before the next try: 0 to wait for a reply.
func (g *Generator) Next(at int64) (id, wait int64, err error) {
	if g.err != nil {
		return 0, 0, g.err
	}
	now := g.Time(at)
	for len(g.spans) > 0 {
		s := g.spans[0]
		t, counter := max(now, s.from), int64(0)
		switch {
		case t > g.last:
		case s.node == g.node && g.counter < g.layout.Counters:
			t, counter = g.last, g.counter // G3, G4
		default:
			t = g.last + 1
		}
		switch {
		case t >= s.until:
			g.spans = g.spans[1:] // G1
			continue
		case t >= g.layout.Ends:
			return 0, 0, ErrExhausted
		case t > now && t != g.last:
			return 0, t - now, nil // G3
		}
		g.last, g.node, g.counter = t, s.node, counter+1
		return (t-g.layout.Epoch)<<g.layout.TimeShift | s.node<<g.layout.NodeShift | counter, 0, nil
	}
	return 0, 0, nil
}

// Forked forgets the grant: it is the parent's (G9).
func (g *Generator) Forked() {
	*g = Generator{jitter: g.jitter, pause: firstPause, last: g.last, err: g.err}
	g.node = -1
}

// Release ends the generator, and returns the grant to release and the timestamp of its last ID, 0 for
// none; "" without a grant (G10).
func (g *Generator) Release() (grant string, last int64) {
	grant, last = g.grant, max(g.last, 0)
	g.grant, g.spans, g.err = "", nil, ErrReleased
	return grant, last
}

// String returns the state, for messages.
func (g *Generator) String() string {
	return fmt.Sprintf("generator with %v, last %d/%d, error %v", g.spans, g.last, g.counter, g.err)
}
