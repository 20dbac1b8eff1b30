package main

import (
	"context"
	"time"
)

const aboutMembers = `So many members in this one process, one backup of everything, nobody attached. All start at once.
Traffic is what all of them send together.`

const breaksFirst = `What breaks first with a thousand members, on paper. First the partitions, of which a grid has 271 unless
it is formed with more (Config.Partitions, up to 8191): beyond 271 members the others own nothing, and beyond 542 they hold no
copy either; nothing fails, but they add nothing. Then the leader: there are three voters however many members there are, but
every member learns the roster from the leader's Raft log, with ten to twenty heartbeats a second, so a thousand members are
ten to twenty thousand small calls a second from one process; the leader also calls each member once a second to see that
it answers. Then the forming, in which members join one roster version after the other. Gossip
does not break: what it costs a member hardly grows. More than some hundred processes are better clients of a few members.`

// measureMembers measures what so many members cost.
func measureMembers(ctx context.Context, size int) (point, error) {
	before := heap()
	began := time.Now()
	w, err := startWorld(ctx, size, 0)
	if err != nil {
		return point{}, err
	}
	defer w.end()
	p := point{size: size}
	p.add("formed, in sync", time.Since(began).Seconds(), "s")
	p.add("heap a member", (heap()-before)/float64(size)/1000, "kB")
	rest := w.observe()
	p.add("traffic", rest.bytes/1000, "kB/s")
	p.add("traffic a member", rest.bytes/1000/float64(size), "kB/s")
	p.add("cores", rest.cores, "")
	took, err := w.failOver(ctx, nameOf(0))
	p.add("fail over", took.Seconds(), "s")
	return p, err
}
