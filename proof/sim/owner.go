package sim

import (
	"github.com/snowgrid/snowgrid/clustertime"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/roster"
)

// stamp is what every answer carries.
type stamp struct {
	version roster.Version
	time    clustertime.Tick
}

// answer is what a request came to.
type answer[T any] struct {
	value T
	stamp stamp
	err   error
}

// askOwner has a name's owner serve a request.
func askOwner[T any](m *member, name string, request func(o *actor, v partition.View, reply func(T, error)), reply func(answer[T])) {
	r := m.roster
	if len(r.Partitions) == 0 || r.Partitions[roster.PartitionOf(name, len(r.Partitions))].Owner != m.inc {
		reply(answer[T]{err: roster.ErrWrongOwner})
		return
	}
	v := m.view()
	request(m.actorOf(roster.PartitionOf(name, len(r.Partitions))), v, func(value T, err error) {
		reply(answer[T]{value, stamp{v.Roster.Version, v.Bounds().Now}, err})
	})
}

// nothing makes a reply without a value.
func nothing(reply func(struct{}, error)) func(error) {
	return func(err error) { reply(struct{}{}, err) }
}
