package explore

import (
	"encoding/binary"
	"errors"
	"reflect"
	"slices"
	"time"
	"unsafe"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Two machines are the same state if they behave the same from then on. The encoding therefore
// stores clocks as the time left until something is due, and omits fields that no rule reads again.

// machineEncoder returns an encoder for processes.
func (l *lab) machineEncoder() *encoder {
	e := newEncoder(l.callers.number)
	e.sets = l.asks(requestSet)
	e.silence = e.sets || l.asks(requestExpire)
	e.late = l.asks(requestLate)
	return e
}

// newEncoder returns an encoder for machines; number numbers callers.
func newEncoder(number func(unsafe.Pointer) uint64) *encoder {
	machine, table := reflect.TypeFor[partition.Machine](), reflect.TypeFor[partition.Table]()
	collection := fieldType(machine, "collection")
	return &encoder{number: number, hooks: map[reflect.Type]hook{
		machine:                                    encodeMachine,
		fieldType(machine, "replica"):              encodeReplica,
		fieldType(machine, "released"):             encodeReleased,
		fieldType(collection, "waiting").Elem():    encodeWaiting,
		fieldType(machine, "ending").Elem().Elem(): encodeEnding,
		fieldType(table, "records").Elem().Elem():  encodeRecord,
		fieldType(table, "census"):                 encodeNothing,
		reflect.TypeFor[partition.Sessions]():      encodeSessions,
		reflect.TypeFor[error]():                   encodeError,
	}}
}

func fieldType(t reflect.Type, name string) reflect.Type {
	f, found := t.FieldByName(name)
	if !found {
		panic("explore: " + t.String() + " has no field " + name)
	}
	if f.Type.Kind() == reflect.Pointer {
		return f.Type.Elem()
	}
	return f.Type
}

// process appends the parts that distinguish two processes.
func (e *encoder) process(b []byte, p *process) []byte {
	e.now = p.clock
	b = e.append(b, reflect.ValueOf(p.self))
	b = binary.AppendUvarint(b, uint64(p.roster))
	b = append(b, bit(p.ended), bit(p.machine.Acts()))
	return e.append(b, reflect.ValueOf(p.machine))
}

// encodeMachine omits an owner's state if the machine is not an owner: it clears that state before
// it acts again. It omits all deliveries, because each step ends them.
func encodeMachine(e *encoder, b []byte, v reflect.Value) []byte {
	keepers, collection := part(v, "keepers"), part(v, "collection")
	b = e.append(e.append(b, field(v, "replica")), field(v, "table"))
	b = e.append(b, field(keepers, "kept"))
	if !acts(v) {
		return b
	}
	b = e.append(b, field(keepers, "keeping"))
	b = e.append(e.append(b, field(v, "ending")), field(collection, "waiting"))
	b = encodePending(e, b, v)
	if e.names {
		return encodeAsks(e, b, v)
	}
	b = e.append(b, field(v, "unacked"))
	if e.silence {
		b = e.append(b, field(v, "sessions"))
	}
	if e.late {
		b = e.append(b, field(v, "released"))
	}
	return b
}

// encodeRecord omits a name's last use: only the removal of unused names, which no scope has, reads
// it.
func encodeRecord(e *encoder, b []byte, v reflect.Value) []byte { return e.fields(b, v, "used") }

// encodeNothing is for counts that follow from other fields.
func encodeNothing(_ *encoder, b []byte, _ reflect.Value) []byte { return b }

func acts(v reflect.Value) bool { return v.Addr().Interface().(interface{ Acts() bool }).Acts() }

// encodeReplica omits the parts that its machine has already, and an owner's state about the
// others.
func encodeReplica(e *encoder, b []byte, v reflect.Value) []byte {
	except := []string{"partition", "self", "machine"}
	if !acts(v) {
		except = append(except, "owner")
	}
	return e.fields(b, v, except...)
}

// encodePending appends the relevant pending replies, in any order.
func encodePending(e *encoder, b []byte, machine reflect.Value) []byte {
	pending := field(part(machine, "replies"), "pending")
	var entries []string
	for i := range pending.Len() {
		h := pending.Index(i)
		a := addressable(field(h, "answer").Elem())
		if e.tellsNothing(a) {
			continue
		}
		entry := binary.AppendUvarint(nil, field(h, "number").Uint())
		if e.names {
			entry = append(entry, bit(field(h, "persistent").Bool()))
			entry = appendUnanswered(entry, machine, field(h, "question").Uint())
		}
		entries = append(entries, string(e.append(entry, a)))
	}
	return appendSet(b, entries)
}

// appendUnanswered appends the replicas that have not replied to a question.
func appendUnanswered(b []byte, machine reflect.Value, question uint64) []byte {
	replica := field(machine, "replica").Interface().(interface {
		Needed() []roster.Incarnation
		Storage() roster.Storage
	})
	asked := replica.Needed()
	for _, i := range replica.Storage().Needed {
		if replica.Storage().Memory && !slices.Contains(asked, i) {
			asked = append(asked, i)
		}
	}
	for _, i := range asked {
		s := field(part(machine, "deliveries"), "senders").MapIndex(reflect.ValueOf(i))
		if !s.IsValid() || field(s.Elem(), "answered").Uint() < question {
			b = append(b, i...)
		}
	}
	return append(b, 0)
}

// tellsNothing reports whether a reply is an error, or has a kind that the exploration ignores.
func (e *encoder) tellsNothing(answer reflect.Value) bool {
	value := answer.FieldByName("value")
	if !value.IsValid() { // the end of a life
		return !e.names
	}
	if err, failed := field(answer, "err").Interface().(error); failed {
		return !e.names || !errors.Is(err, sequencer.ErrNotFound)
	}
	switch value := writable(value).Interface().(type) {
	case struct{}:
		return !e.names
	case clustertime.Tick:
		return value == 0
	case []partition.Renewed:
		return e.names || value[0].Err != nil
	}
	return false
}

// encodeAsks appends an owner's state about the disks that it requests definitions from.
func encodeAsks(e *encoder, b []byte, machine reflect.Value) []byte {
	if machine.Addr().Interface().(*partition.Machine).Table().Complete() {
		return b
	}
	var entries []string
	for i := field(part(machine, "collection"), "asks").MapRange(); i.Next(); {
		ask := i.Value().Elem()
		due := time.Duration(field(ask, "next").Int()) <= e.now
		entries = append(entries, string(append(e.append(nil, i.Key()), bit(field(ask, "busy").Bool()), bit(due))))
	}
	return appendSet(b, entries)
}

// encodeWaiting appends a request that waits for definitions, without its deadline.
func encodeWaiting(e *encoder, b []byte, v reflect.Value) []byte {
	return e.append(b, field(v, "request"))
}

func encodeError(_ *encoder, b []byte, v reflect.Value) []byte {
	if v.IsNil() {
		return append(b, 0)
	}
	return append(append(b, 1), v.Interface().(error).Error()...)
}

// encodeReleased appends the time since attachments were returned.
func encodeReleased(e *encoder, b []byte, v reflect.Value) []byte {
	var entries []string
	for i := v.MapRange(); i.Next(); {
		entry := e.append(nil, i.Key())
		entries = append(entries, string(e.duration(entry, e.now-time.Duration(i.Value().Int()))))
	}
	return appendSet(b, entries)
}

// encodeEnding appends a destroy in progress, without the requests that wait for it.
func encodeEnding(e *encoder, b []byte, v reflect.Value) []byte {
	b = e.append(b, field(v, "ref"))
	return e.duration(b, max(0, time.Duration(field(v, "deadline").Int())-e.now))
}

// encodeSessions appends each attachment's time since it was last presented, and for sets the basis
// of their fingerprints. Time in which no holder could reach the owner does not count.
func encodeSessions(e *encoder, b []byte, v reflect.Value) []byte {
	now := e.now
	if ran := time.Duration(field(v, "ran").Int()); now-ran > time.Second {
		now = ran
	}
	var entries []string
	for i := field(v, "names").MapRange(); i.Next(); {
		for j := range i.Value().Len() {
			t := i.Value().Index(j)
			if field(t, "id").IsZero() && !e.sets {
				continue
			}
			session := field(t, "of").Elem()
			entry := e.append(e.append(e.append(nil, i.Key()), field(t, "id")), field(t, "node"))
			if e.sets {
				entry = e.append(e.append(e.append(entry, field(t, "print")), field(session, "holder")), field(session, "until"))
			}
			last := max(field(t, "at").Int(), field(session, "at").Int())
			entries = append(entries, string(e.duration(entry, now-time.Duration(last))))
		}
	}
	return appendSet(b, entries)
}

func (*encoder) duration(b []byte, d time.Duration) []byte {
	return binary.AppendVarint(b, int64(d))
}
