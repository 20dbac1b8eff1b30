package main

import (
	"context"
	"time"
)

const aboutMembers = `This number of members in one process, one backup, no attachments. All start at the same time. Traffic is the
sum of the bytes that they send at rest, a quarter of a minute after that: at first each newcomer exchanges everything with several
others.`

// membersSettle is the time for members that joined together to exchange their state.
const membersSettle = 15 * time.Second

const breaksFirst = `Limits with a thousand members. First the partitions: a grid has 271 unless it is formed with more
(Config.Partitions, up to 8191). Of more than 271 members the others own no partition, and beyond 542 they have no copy either;
nothing fails, but they add nothing. Then gossip: each member exchanges everything that it knows with another one once in three minutes,
which is most of the traffic and of the processor time of a thousand members. The leader is no limit: seven members keep the log of
the roster, and the others are told of each raise by one small call, whose answer is also a probe's, 670 in a second
(proof/RESULTS.md, Many members). More than some hundred processes are better run as clients of a few members.`

// measureMembers measures the cost of size members.
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
	time.Sleep(membersSettle)
	rest := w.observe()
	p.add("traffic", rest.bytes/1000, "kB/s")
	p.add("traffic per member", rest.bytes/1000/float64(size), "kB/s")
	p.add("cores", rest.cores, "")
	took, err := w.failOver(ctx, nameOf(0))
	p.add("failover", took.Seconds(), "s")
	return p, err
}
