package explore

import (
	"reflect"
	"unsafe"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/partition"
)

// functions maps requests to the reply functions that they pass. Equal requests get the same
// function, so the machines' pending replies can be compared; no function refers to a process.
type functions[K comparable] struct {
	known   map[K]any
	numbers map[unsafe.Pointer]uint64
}

func newFunctions[K comparable]() functions[K] {
	return functions[K]{known: map[K]any{}, numbers: map[unsafe.Pointer]uint64{}}
}

// functionFor returns a request's function, which is f if there is none yet.
func functionFor[K comparable, F any](s *functions[K], request K, f F) F {
	if known, found := s.known[request]; found {
		return known.(F)
	}
	s.known[request] = f
	s.numbers[functionOf(reflect.ValueOf(f))] = uint64(len(s.numbers))
	return f
}

// number distinguishes functions.
func (s *functions[K]) number(f unsafe.Pointer) uint64 {
	n, known := s.numbers[f]
	if !known {
		panic("explore: a machine has a function that no request gave")
	}
	return n
}

// callers are the reply functions in a lab.
type callers struct {
	functions[caller]
	lab     *lab
	nothing func(error) // for requests with an irrelevant reply
}

// caller identifies a function: the kind of request, and the part of the reply that is determined
// by the request.
type caller struct {
	kind inputKind
	told answer
}

func newCallers(l *lab) *callers {
	c := &callers{functions: newFunctions[caller](), lab: l}
	c.nothing = functionFor(&c.functions, caller{kind: inDetach}, func(error) {})
	return c
}

func (c *callers) attachments(told answer) func(attachment.Attachment, error) {
	return functionFor(&c.functions, caller{inAttach, told}, func(a attachment.Attachment, err error) {
		if err == nil {
			told := told
			told.node = int8(a.Node)
			c.grant(told, a.Grant)
		}
	})
}

func (c *callers) renewals(told answer) func([]partition.Renewed, error) {
	return functionFor(&c.functions, caller{inRenew, told}, func(renewed []partition.Renewed, err error) {
		if err == nil && renewed[0].Err == nil {
			c.grant(told, renewed[0].Grant)
		}
	})
}

// ends receives the end of a whole set's grants, 0 if it was not extended.
func (c *callers) ends(told answer) func(clustertime.Tick, error) {
	return functionFor(&c.functions, caller{inRenewSet, told}, func(until clustertime.Tick, err error) {
		if err == nil && until > 0 {
			c.grant(told, attachment.Grant{From: told.from, Until: until})
		}
	})
}

func (c *callers) grant(told answer, g attachment.Grant) {
	told.from, told.until = g.From, g.Until
	c.lab.effects.answered(told)
}

func (c *callers) lives(told answer) func(attachment.Ref, error) {
	return functionFor(&c.functions, caller{inCreate, told}, func(ref attachment.Ref, err error) {
		if err == nil {
			told := told
			told.life = keep(&c.lab.refs, ref)
			c.lab.effects.answered(told)
		}
	})
}
