package main

import (
	"context"
	"time"
)

const aboutMembers = `So many members in this one process, one backup of everything, nobody attached. All start at once.
Traffic is what all of them send together.`

// measureMembers measures what so many members cost.
func measureMembers(ctx context.Context, size int) (point, error) {
	before := heap()
	began := time.Now()
	w, err := startWorld(ctx, size)
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
