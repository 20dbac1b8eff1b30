package explore

import (
	"reflect"
	"unsafe"

	"github.com/snowgrid/snowgrid/clustertime"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// callers are the functions that requests give for their answers. One that says the
// same is the same function, so the answers that machines hold back can be compared; none of
// them knows of a process.
type callers struct {
	lab     *lab
	known   map[caller]any
	numbers map[unsafe.Pointer]uint64
	nothing func(error) // of requests whose answer does not matter
}

// caller identifies a function: the kind of request, and the part of the answer that is
// known at the request.
type caller struct {
	kind inputKind
	told answer
}

func newCallers(l *lab) *callers {
	c := &callers{lab: l, known: map[caller]any{}, numbers: map[unsafe.Pointer]uint64{}}
	c.nothing = callerOf(c, caller{kind: inDetach}, func(error) {})
	return c
}

// callerOf returns the function of a caller, which is f if there is none.
func callerOf[F any](c *callers, is caller, f F) F {
	if known, found := c.known[is]; found {
		return known.(F)
	}
	c.known[is] = f
	c.numbers[functionOf(reflect.ValueOf(f))] = uint64(len(c.numbers))
	return f
}

// number tells functions apart.
func (c *callers) number(f unsafe.Pointer) uint64 {
	n, known := c.numbers[f]
	if !known {
		panic("explore: a machine has a function that no request gave")
	}
	return n
}

func (c *callers) attachments(told answer) func(sequencer.Attachment, error) {
	return callerOf(c, caller{inAttach, told}, func(a sequencer.Attachment, err error) {
		if err == nil {
			told := told
			told.node = int8(a.Node)
			c.grant(told, a.Grant)
		}
	})
}

func (c *callers) renewals(told answer) func([]partition.Renewed, error) {
	return callerOf(c, caller{inRenew, told}, func(renewed []partition.Renewed, err error) {
		if err == nil && renewed[0].Err == nil {
			c.grant(told, renewed[0].Grant)
		}
	})
}

// ends takes where the grants of a whole set end, 0 if it was not extended.
func (c *callers) ends(told answer) func(clustertime.Tick, error) {
	return callerOf(c, caller{inRenewSet, told}, func(until clustertime.Tick, err error) {
		if err == nil && until > 0 {
			c.grant(told, sequencer.Grant{From: told.from, Until: until})
		}
	})
}

func (c *callers) grant(told answer, g sequencer.Grant) {
	told.from, told.until = g.From, g.Until
	c.lab.effects.answered(told)
}

func (c *callers) lives(told answer) func(sequencer.Ref, error) {
	return callerOf(c, caller{inCreate, told}, func(ref sequencer.Ref, err error) {
		if err == nil {
			told := told
			told.life = keep(&c.lab.refs, ref)
			c.lab.effects.answered(told)
		}
	})
}
