package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

const aboutHolders = `Three members, one backup; every holder is a separate client on a host of its own, with one handle. Members
and holders run in this process, so heap and cores are those of both ends; traffic is the bytes that either
end sends, with renewals. The window is 30 s here, so that ten thousand clients do not saturate two cores: a
holder renews every fifth to quarter of it, and with the default of 15 s there are twice as many renewals.`

// holdersWindow is the grid's window.
const holdersWindow = 30 * time.Second

// measureHolders measures the cost of size clients.
func measureHolders(ctx context.Context, size int) (point, error) {
	w, err := startWorld(ctx, 3, holdersWindow)
	if err != nil {
		return point{}, err
	}
	defer w.end()
	p := point{size: size}
	before := heap()
	began := time.Now()
	for i := range size {
		if _, err := w.client(ctx, fmt.Sprint("h", i)); err != nil {
			return p, err
		}
	}
	p.add("dials per second", float64(size)/time.Since(began).Seconds(), "")
	var waits atomic.Int64
	handles := make([]*sequencer.Sequencer, size)
	took, err := each(size, func(i int) (err error) {
		handles[i], err = w.users[i].CreateSequencer(ctx, nameOf(i%1000), sequencer.Config{})
		return err
	})
	if err != nil {
		return p, err
	}
	p.add("first attaches a second", float64(size)/took.Seconds(), "")
	p.add("heap per holder", (heap()-before)/float64(size)/1000, "kB")
	rest := w.observe()
	p.add("renewals per second", rest.renewals, "")
	p.add("traffic", rest.bytes/1000, "kB/s")
	p.add("cores", rest.cores, "")
	for _, h := range handles {
		waits.Add(int64(h.Stats().GrantWaits))
	}
	if n := waits.Load(); n > 0 {
		return p, fmt.Errorf("holders waited %d times", n)
	}
	took, err = w.failOver(ctx, nameOf(0))
	p.add("failover", took.Seconds(), "s")
	return p, err
}
