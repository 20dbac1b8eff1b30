package explore

import (
	"encoding/binary"
	"reflect"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
)

// worldEncoder returns an encoder for worlds.
func (l *nameLab) worldEncoder() *encoder {
	e := newEncoder(l.callers.number)
	e.names = true
	e.hooks[reflect.TypeFor[nameWorld]()] = func(e *encoder, b []byte, v reflect.Value) []byte {
		return e.fields(b, v, "copied")
	}
	e.hooks[reflect.TypeFor[nameMember]()] = encodeNameMember
	e.hooks[reflect.TypeFor[partition.Delivery]()] = func(e *encoder, b []byte, v reflect.Value) []byte {
		return e.fields(b, v, "Pause", "Question")
	}
	e.hooks[reflect.TypeFor[*roster.Roster]()] = l.encodeRoster
	return e
}

// encodeNameMember omits the clock, because its machine is encoded relative to it, and the
// deliveries in progress, because they follow from other fields.
func encodeNameMember(e *encoder, b []byte, v reflect.Value) []byte {
	n := v.Addr().Interface().(*nameMember)
	if n.code == "" {
		e.now = n.clock
		n.code = string(e.fields([]byte{bit(n.machine.Acts())}, v, "clock", "busy", "code"))
	}
	return append(b, n.code...)
}

// encodeRoster appends the number for a roster's content.
func (l *nameLab) encodeRoster(_ *encoder, b []byte, v reflect.Value) []byte {
	r := v.Interface().(*roster.Roster)
	n, known := l.numbers[r]
	if !known {
		n = uint64(keep(&l.rosters, r))
		l.numbers[r] = n
	}
	return binary.AppendUvarint(b, n)
}

// differ reports whether two states of a member differ.
func (l *nameLab) differ(a, b *nameMember) bool {
	encode := func(m *nameMember) string { return string(l.encoder.append(nil, reflect.ValueOf(m).Elem())) }
	return encode(a) != encode(b)
}
