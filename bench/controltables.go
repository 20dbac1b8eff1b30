package main

import (
	"fmt"
	"time"
)

func (b *bench) writeControl(alone []*attachTimes, loads []load, synced time.Duration, absent string) {
	r := b.report
	r.p(`The cost before the first ID of a process: to get a logical node. In snowgrid an attach is one call to the
owner, in a grid of 3 members with 1 backup; in etcd it is a lease grant, and a transaction that puts a key
under the lease if it does not exist. All traffic uses loopback; the client is this process.

The guarantees differ. etcd writes to the disks of two of its three servers, with fsync, before it
answers; fsync of 2 KiB takes %s here (median). snowgrid keeps its tables in memory: an attach has reached
the owner and its backup before it is answered. If both are lost at the same time, holders wait for the
window, and no ID is repeated. So the figures compare the costs to a user, not equal work.

`, short(synced))
	if absent != "" {
		r.p("%s\n\n", absent)
	}
	r.p("### One at a time\n\nTurns of %d, without the time of the detach in between; %s of each.\n\n", b.size.turn,
		thousands(float64(b.size.turn*b.size.attaches)))
	etcd := theirsOf(alone)
	r.table([]string{"operation", "p50", "p90", "p99", "etcd's p50, ratio", "etcd's p90, ratio", "etcd's p99, ratio"},
		aloneRows(alone, etcd))
	r.p(`
### %d callers

Full rate, in turns of %s; the percentiles are those of single calls. Every attach is released before the
next. A create adds a name that does not exist; snowgrid's includes an attach in the same call, and
etcd's is measured with an attach and without.

`, callers, short(2*b.size.window))
	r.table([]string{"system", "call", "per second", "p50", "p99", "snowgrid, 3 processes, ratio"}, loadRows(loads))
	if etcd != nil {
		b.controlHeadlines(alone[0], etcd, loads)
	}
}

// theirsOf returns etcd's times, nil if there are none.
func theirsOf(alone []*attachTimes) *attachTimes {
	if len(alone) < 3 {
		return nil
	}
	return alone[2]
}

// controlHeadlines compares etcd with the grid that runs its members as processes, like etcd.
func (b *bench) controlHeadlines(ours, etcd *attachTimes, loads []load) {
	for _, q := range []struct {
		name  string
		share float64
	}{{"p50", 0.5}, {"p99", 0.99}} {
		mine, its := ours.whole.percentile(q.share), etcd.whole.percentile(q.share)
		b.report.headline(q.name+" of an attach", short(mine), fmt.Sprintf("%s: %s", etcd.keeper.name, short(its)),
			times(float64(its)/float64(mine))+" as long")
	}
	mine, its := rateOf(loads, 0, 0), rateOf(loads, 2, 0)
	b.report.headline(fmt.Sprintf("attaches per second, %d callers", callers), rounded(mine),
		fmt.Sprintf("%s: %s", etcd.keeper.name, rounded(its)), times(mine/its)+" as many")
}

func aloneRows(alone []*attachTimes, etcd *attachTimes) (rows [][]string) {
	shares := []float64{0.5, 0.9, 0.99}
	add := func(name string, h *histogram) {
		row := []string{name}
		for _, q := range shares {
			row = append(row, short(h.percentile(q)))
		}
		for _, q := range shares {
			if etcd == nil {
				row = append(row, "")
				continue
			}
			row = append(row, times(float64(etcd.whole.percentile(q))/float64(h.percentile(q)))+" as long")
		}
		rows = append(rows, row)
	}
	for _, t := range alone {
		add(t.keeper.name, &t.whole)
		if len(t.steps) == 1 {
			continue
		}
		for i := range t.steps {
			add("... of which "+t.keeper.steps[i].name, &t.steps[i])
		}
	}
	return rows
}

func loadRows(loads []load) (rows [][]string) {
	seen := map[int]int{}
	for i := range loads {
		l := &loads[i]
		kind := min(seen[l.keeper], 1)
		seen[l.keeper]++
		rows = append(rows, []string{
			l.name, l.what, rounded(l.rate()), short(l.times.percentile(0.5)), short(l.times.percentile(0.99)),
			times(rateOf(loads, 0, kind)/l.rate()) + " as many",
		})
	}
	return rows
}

// rateOf returns a keeper's rate for a kind of load: 0 attaches, 1 creates.
func rateOf(loads []load, keeper, kind int) float64 {
	for i := range loads {
		if loads[i].keeper != keeper {
			continue
		}
		if kind == 0 {
			return loads[i].rate()
		}
		kind--
	}
	return 0
}
