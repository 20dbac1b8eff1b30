package main

import (
	"context"
	"time"
)

const aboutMembers = `This number of members in one process, one backup, no attachments. All start at the same time. Traffic is the
sum of the bytes that they send.`

const breaksFirst = `Limits with a thousand members, extrapolated. First the partitions: a grid has 271 unless it is formed with more
(Config.Partitions, up to 8191). Of more than 271 members the others own no partition, and beyond 542 they have no copy either;
nothing fails, but they add nothing. Then the leader: seven members keep the log of the roster, and the others are told of each
raise by a small call, and called once a second besides, so a thousand members are some seventeen hundred small calls per second
of one process. Then the forming, in which members join one roster version after the other. Gossip is not a limit: its cost per
member hardly grows. More than some hundred processes are better run as clients of a few members.`

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
	p.add("start, until in sync", time.Since(began).Seconds(), "s")
	p.add("heap per member", (heap()-before)/float64(size)/1000, "kB")
	rest := w.observe()
	p.add("traffic", rest.bytes/1000, "kB/s")
	p.add("traffic per member", rest.bytes/1000/float64(size), "kB/s")
	p.add("cores", rest.cores, "")
	took, err := w.failOver(ctx, nameOf(0))
	p.add("failover", took.Seconds(), "s")
	return p, err
}
