package chaos

import (
	"cmp"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/proof/chaos/history"
	"github.com/snowgrid/snowgrid/sequencer"
)

// A holder does not see its grants, but its IDs carry the logical node and the
// millisecond. So the grants are inferred from use.

// use is a stretch of time in which one handle used one logical node, by the
// timestamps of its IDs: under one attachment, and without a pause of useGap. A
// longer pause may have seen the grid take the node back and give it out again.
type use struct {
	node        sequencer.NodeID
	first, last int64 // Unix milliseconds, both used
	who         string
}

// useGap is far below the window, before whose end no attachment expires.
const useGap = int64(time.Second / time.Millisecond)

// grantVerdict is the result of checkGrants.
type grantVerdict struct {
	uses     int
	overlaps uint64
	findings findings
}

// checkGrants wants the stretches of different attachments of a logical node not to
// overlap, not even where they have no ID in common.
func checkGrants(runs []holderRun) grantVerdict {
	var v grantVerdict
	for name, uses := range usesOf(runs) {
		v.uses += len(uses)
		slices.SortFunc(uses, func(a, b use) int {
			return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.first, b.first))
		})
		for i, reach := 1, 0; i < len(uses); i++ {
			a, b := uses[reach], uses[i]
			if a.node == b.node && b.first <= a.last {
				v.overlaps++
				v.findings.add("%s node %d: %s used %d to %d, %s used %d to %d",
					name, a.node, a.who, a.first, a.last, b.who, b.first, b.last)
			}
			if a.node != b.node || b.last > a.last {
				reach = i
			}
		}
	}
	return v
}

// usesOf returns the stretches of every name.
func usesOf(runs []holderRun) map[string][]use {
	names := map[string][]use{}
	for _, run := range runs {
		open := map[int]*use{}
		closeUse := func(handle int, name string) {
			if u := open[handle]; u != nil {
				names[name] = append(names[name], *u)
				delete(open, handle)
			}
		}
		handles := map[int]string{}
		for _, op := range run.ops {
			handles[op.Handle] = op.Name
			if op.Kind != history.Fill && op.Kind != history.Final {
				closeUse(op.Handle, op.Name)
				continue
			}
			definition := definitionOf(op.Name)
			for _, r := range op.Runs {
				node, first, last := borders(definition, r)
				u := open[op.Handle]
				if u != nil && (u.node != node || first-u.last > useGap) {
					closeUse(op.Handle, op.Name)
					u = nil
				}
				if u == nil {
					u = &use{node: node, first: first, who: run.name}
					open[op.Handle] = u
				}
				u.last = last
			}
		}
		for handle, name := range handles {
			closeUse(handle, name)
		}
	}
	return names
}

// borders are the node of a run's IDs and its milliseconds.
func borders(d sequencer.Definition, r history.Run) (node sequencer.NodeID, first, last int64) {
	a, b := d.Decompose(sequencer.ID(r.First)), d.Decompose(sequencer.ID(r.Last()))
	return a.Node, a.Time.UnixMilli(), b.Time.UnixMilli()
}

// definitionOf is the definition that the holders give every name.
func definitionOf(name string) sequencer.Definition {
	d, err := sequencer.Define(name, sequencer.Config{})
	if err != nil {
		panic(err)
	}
	return d
}
