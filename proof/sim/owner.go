package sim

import (
	"github.com/snowgrid/snowgrid/owner"
	"github.com/snowgrid/snowgrid/partition"
)

// stamp is what every answer carries.
type stamp struct {
	version partition.Version
	time    partition.Tick
}

// answer is what a request came to.
type answer[T any] struct {
	value T
	stamp stamp
	err   error
}

// askOwner has a name's owner serve a request.
func askOwner[T any](m *member, name string, request func(o *actor, v owner.View, reply func(T, error)), reply func(answer[T])) {
	r := m.roster
	if len(r.Partitions) == 0 || r.Partitions[partition.Of(name, len(r.Partitions))].Owner != m.inc {
		reply(answer[T]{err: partition.ErrWrongOwner})
		return
	}
	v := m.view()
	request(m.actorOf(partition.Of(name, len(r.Partitions))), v, func(value T, err error) {
		reply(answer[T]{value, stamp{v.Roster.Version, v.Bounds().Now}, err})
	})
}

// nothing makes a reply without a value.
func nothing(reply func(struct{}, error)) func(error) {
	return func(err error) { reply(struct{}{}, err) }
}
