package explore

import (
	"fmt"

	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// take records a reply that has left its owner. Its holder may receive it from then on, so it
// counts immediately, unless the holder would ignore it: the holder has returned the attachment
// (H5), or has another node by now (H1).
func (l *lab) take(w world, a answer) world {
	if a.holder == noHolder {
		return w.told(a)
	}
	h := &w.holders[a.holder]
	if h.gone && l.weak != LateAnswerAccepted || h.node >= 0 && h.node != a.node {
		return w
	}
	if l.scope.Nodes == 1 {
		h.node = 0
	}
	h.answered |= 1 << a.node
	h.version = min(h.version, uint8(a.version))
	h.starts |= 1 << (a.from - base)
	h.rights[a.node] |= ticks(a.from, a.until)
	return w
}

// told records that a life is known outside the grid.
func (w world) told(a answer) world {
	for i, f := range w.lives {
		if f.ref == a.life {
			w.lives = append([]life(nil), w.lives...)
			w.lives[i].since = min(f.since, uint8(a.version))
			return w
		}
	}
	w.lives = append(append([]life(nil), w.lives...), life{ref: a.life, since: uint8(a.version)})
	return w
}

// ticks returns a grant's set of ticks.
func ticks(from, until clustertime.Tick) uint8 {
	var set uint8
	for t := from; t < until; t++ {
		set |= 1 << (t - base)
	}
	return set
}

// duplicate describes two attachments with a common tick in a node, or two lives of the name with a
// common tick in any nodes; "" if there are none.
func (w *world) duplicate(holders int) string {
	for i := range holders {
		for j := range i {
			a, b := &w.holders[j], &w.holders[i]
			for n := range maxNodes {
				if common := a.rights[n] & b.rights[n]; common != 0 {
					return fmt.Sprintf("attachments %d and %d may both use node %d at %s", j+1, i+1, n, tickText(common))
				}
			}
			if common := (a.rights[0] | a.rights[1]) & (b.rights[0] | b.rights[1]); a.life != b.life && common != 0 {
				return fmt.Sprintf("attachments %d and %d of different lives may both use %s", j+1, i+1, tickText(common))
			}
		}
	}
	return ""
}

// tickText lists a set's ticks.
func tickText(set uint8) string {
	text := "tick"
	for t := range 8 {
		if set&(1<<t) != 0 {
			text += fmt.Sprintf(" %d", t)
		}
	}
	return text
}
