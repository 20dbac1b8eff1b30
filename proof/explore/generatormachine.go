package explore

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"unsafe"

	"github.com/snowgrid/snowgrid/internal/grants"
)

// generatorFields has the private fields of grants.Generator, for the encoding and the weaknesses.
// sameShape compares them at the start.
type generatorFields struct {
	jitter              func(below int64) int64
	grant               string
	layout              grants.Reply
	spans               []generatorSpan
	times               []generatorReading
	ahead               int64
	due                 int64
	pause               int64
	asked               bool
	last, node, counter int64
	err                 error
}

type (
	generatorSpan    struct{ node, from, until int64 }
	generatorReading struct{ at, offset int64 }
)

var _ = sameShape(reflect.TypeFor[grants.Generator](), reflect.TypeFor[generatorFields]())

// sameShape reports that two types have equal fields at equal places. It panics otherwise: a
// developer has to decide whether a new field distinguishes states.
func sameShape(have, want reflect.Type) bool {
	switch {
	case have == want:
		return true
	case have.Kind() == reflect.Slice && want.Kind() == reflect.Slice:
		return sameShape(have.Elem(), want.Elem())
	case have.Kind() != reflect.Struct || want.Kind() != reflect.Struct || have.NumField() != want.NumField():
		panic(fmt.Sprintf("explore: %v differs from %v", have, want))
	}
	for i := range have.NumField() {
		a, b := have.Field(i), want.Field(i)
		if a.Name != b.Name || a.Offset != b.Offset {
			panic(fmt.Sprintf("explore: %v has a field %s that the encoding does not know", have, a.Name))
		}
		sameShape(a.Type, b.Type)
	}
	return true
}

func fieldsOf(g *grants.Generator) *generatorFields { return (*generatorFields)(unsafe.Pointer(g)) }

// newGeneratorMachine returns a machine without a grant. No jitter: requests are sent at any time.
func newGeneratorMachine() *grants.Generator { return grants.New(noJitter) }

func noJitter(int64) int64 { return 0 }

// change runs a function on a copy of a process's machine.
func (p *generatorProcess) change(do func(g *grants.Generator, f *generatorFields)) {
	g := *p.machine
	f := fieldsOf(&g)
	f.spans, f.times = slices.Clone(f.spans), slices.Clone(f.times)
	do(&g, f)
	p.machine = &g
}

// asks reports whether a machine has a request in progress.
func (p *generatorProcess) asks() bool { return fieldsOf(p.machine).asked }

// encodeMachine appends the fields that later steps depend on. It omits:
//
//   - jitter, due and pause: a request is sent at any time
//   - the layout, which is the same in each reply, except whether there is one
//   - the replies' times in scopes in which none of them is dropped: ahead is their maximum
//   - the counter and the node before the first ID
//   - after the end of the process everything but the end and the grant, since no step reads the rest
func (l *generatorLab) encodeMachine(b []byte, g *grants.Generator) []byte {
	f := fieldsOf(g)
	if f.err != nil && !l.weak.revives() {
		b = binary.AppendUvarint(append(b, 2, bit(f.asked)), uint64(l.owners.grant(f.grant)))
		return append(b, f.err.Error()...)
	}
	b = append(b, bit(f.layout.Counters > 0), bit(f.asked), bit(f.err != nil), byte(len(f.spans)))
	b = binary.AppendUvarint(b, uint64(l.owners.grant(f.grant)))
	for _, s := range f.spans {
		b = appendTicks(append(b, byte(s.node)), s.from, s.until)
	}
	b = appendTicks(b, f.ahead)
	if l.scope.Leap {
		b = append(b, byte(len(f.times)))
		for _, t := range f.times {
			b = appendTicks(binary.AppendVarint(b, t.at), t.offset)
		}
	} else if len(f.times) > 9 {
		panic("explore: a machine drops replies' times in a scope that does not encode them")
	}
	if f.last < 0 {
		return append(b, 0)
	}
	return appendTicks(append(b, 1, byte(f.node), byte(f.counter)), f.last)
}

// appendTicks appends times, counted from the tick 0; 0 means none.
func appendTicks(b []byte, all ...int64) []byte {
	for _, t := range all {
		if t != 0 {
			t -= int64(generatorBase) - 1
		}
		b = binary.AppendVarint(b, t)
	}
	return b
}

// request begins a request and returns its grant.
func (l *generatorLab) request(p *generatorProcess) (grant grantID) {
	p.change(func(g *grants.Generator, _ *generatorFields) { grant = l.owners.grant(g.Request(p.at)) })
	p.sentAt = p.at
	return grant
}

// replied applies a reply to a process's machine. A weakness changes the reply, or the fields that
// follow from it.
func (l *generatorLab) replied(p *generatorProcess, r grants.Reply) {
	p.change(func(g *grants.Generator, f *generatorFields) {
		before := slices.Clone(f.spans)
		n := len(before)
		switch {
		case l.weak == GrantEndUsed && r.From < r.Until:
			r.Until++
		case l.weak == LayoutEndIgnored:
			r.Ends += leap
		case l.weak == CounterTooMany:
			r.Counters++
		case l.weak == TimeSinceSent:
			r.Now += p.at - p.sentAt
		case l.weak == OtherNodeExtends && n > 0:
			r.Node = before[n-1].node
		case l.weak == GapUsed && n > 0 && before[n-1].node == r.Node:
			r.From = min(r.From, before[n-1].until)
		case l.weak == ReplyRevives:
			f.err = nil
		}
		g.Replied(p.at, r)
		n = len(f.spans)
		switch {
		case l.weak == UsedBeforeFrom && n > len(before):
			f.spans[n-1].from = 0
		case l.weak == ReplyShortens && n > 0 && f.spans[n-1].node == r.Node && r.Until > r.From:
			f.spans[n-1].until = r.Until
		case l.weak == NewestTimeOnly:
			f.ahead = r.Now - p.at
		case l.weak == FormerGrantDropped && n > 1:
			f.spans = f.spans[n-1:]
		}
	})
}

// refused applies a failure to a process's machine.
func (l *generatorLab) refused(p *generatorProcess, code string) {
	if l.weak == DetachedIgnored && code == "detached" || l.weak == DestroyedIgnored && code == "destroyed" {
		code = "unavailable"
	}
	p.change(func(g *grants.Generator, _ *generatorFields) { g.Refused(p.at, grants.Refusal{Code: code}) })
}

// next calls for an ID; 0 is none.
func (l *generatorLab) next(p *generatorProcess) (id int64) {
	p.change(func(g *grants.Generator, f *generatorFields) {
		now := g.Time(p.at)
		switch {
		case l.weak == BelowLast && now < f.last:
			f.last, f.node = -1, -1
		case l.weak == CounterAgain && now == f.last:
			f.counter = 0
		}
		var wait int64
		id, wait, _ = g.Next(p.at)
		switch {
		case l.weak == AheadOfTime && wait > 0:
			id, _, _ = g.Next(p.at + wait)
		case l.weak == OtherNodeSameTick && wait > 0 && f.spans[0].node != f.node && f.spans[0].from <= now && f.last == now:
			f.last = -1
			id, _, _ = g.Next(p.at)
		}
	})
	return id
}

// forked returns the machine of a process's copy.
func (l *generatorLab) forked(p generatorProcess) generatorProcess {
	if l.weak != ForkKeepsGrant {
		p.change(func(g *grants.Generator, _ *generatorFields) { g.Forked() })
	}
	return p
}

// released ends a process's machine, and returns the grant to release with the last timestamp.
func (l *generatorLab) released(p *generatorProcess) (r grantRelease) {
	p.change(func(g *grants.Generator, f *generatorFields) {
		before := *f
		grant, last := g.Release()
		if r = (grantRelease{l.owners.grant(grant), last}); l.weak == LastOmitted {
			r.last = 0
		}
		if l.weak == ReleasedUsed {
			f.grant, f.spans, f.err = before.grant, before.spans, nil
		}
	})
	return r
}
