package main

import (
	"context"
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

const aboutNames = `Three members, one backup, names of 16 bytes, one client with a hundred handles. Heap is the growth of all
three members together, per name and copy (two copies). Then a fourth member joins and takes over its share
of all tables; then the process of an owner ends, and a new client attaches to one of its names.`

// startThree forms a grid with three members, and returns a holder that makes its own calls.
func startThree(ctx context.Context) (*world, *remote, error) {
	w, err := startWorld(ctx, 3, 0)
	if err != nil {
		return nil, nil, err
	}
	r, err := w.remote(ctx)
	if err != nil {
		w.end()
		return nil, nil, err
	}
	return w, r, nil
}

// measureNames measures the cost of size sequencers.
func measureNames(ctx context.Context, size int) (point, error) {
	w, r, err := startThree(ctx)
	if err != nil {
		return point{}, err
	}
	defer w.end()
	if _, err := each(1000, func(i int) error {
		_, err := r.create(ctx,
			fmt.Sprint("warm-up ", i))
		return err
	}); err != nil {
		return point{}, err
	}
	p := point{size: size}
	before := heap()
	took, err := each(size, func(i int) error { _, err := r.create(ctx, nameOf(i)); return err })
	if err != nil {
		return p, err
	}
	p.add("creates per second", float64(size)/took.Seconds(), "")
	p.add("heap per name and copy", (heap()-before)/float64(size)/2, "B")

	user, err := w.client(ctx, "user")
	if err != nil {
		return p, err
	}
	for i := range 100 {
		if _, err := user.CreateSequencer(ctx, nameOf(i), sequencer.Config{}); err != nil {
			return p, err
		}
	}
	rest := w.observe()
	p.add("renewals per second", rest.renewals, "")
	p.add("idle traffic", rest.bytes/1000, "kB/s")
	p.add("idle cores", rest.cores, "")

	began := time.Now()
	if err := w.join(ctx, memberName(3)); err != nil {
		return p, err
	}
	p.add("join of a member, until in sync", time.Since(began).Seconds(), "s")
	took, err = w.failOver(ctx, nameOf(0))
	p.add("failover", took.Seconds(), "s")
	return p, err
}

// failOver crashes a name's owner, and returns a new client's wait for its first ID.
func (w *world) failOver(ctx context.Context, name string) (time.Duration, error) {
	owner := w.ownerOf(name)
	if owner == "" {
		return 0, fmt.Errorf("%q has no owner", name)
	}
	user, err := w.client(ctx, "newcomer")
	if err != nil {
		return 0, err
	}
	began := time.Now()
	w.crash(owner)
	s, err := user.CreateSequencer(ctx, name, sequencer.Config{})
	if err != nil {
		return 0, err
	}
	_, err = s.Next(ctx)
	return time.Since(began), err
}

const aboutNodes = `Three members, one backup; one holder attaches this number of logical nodes, in up to a hundred sequencers
of 8,192 nodes each. Heap is the growth of all three members together, per attachment and copy (two copies).
The holder renews all of them with one call to each owner.`

// measureNodes measures the cost of size attachments.
func measureNodes(ctx context.Context, size int) (point, error) {
	w, r, err := startThree(ctx)
	if err != nil {
		return point{}, err
	}
	defer w.end()
	sequencers := make([]wire.Sequencer, 100)
	for i := range sequencers {
		if sequencers[i], err = r.create(ctx, nameOf(i)); err != nil {
			return point{}, err
		}
	}
	stop := make(chan struct{})
	defer close(stop)
	go r.renewUntil(ctx, stop)
	p := point{size: size}
	before := heap()
	took, err := each(size, func(i int) error {
		// One sequencer after the other: a sequencer is not renewed while it changes.
		return r.attach(ctx, sequencers[i*len(sequencers)/size])
	})
	if err != nil {
		return p, err
	}
	p.add("attaches per second", float64(size)/took.Seconds(), "")
	p.add("heap per attachment and copy", (heap()-before)/float64(size)/2, "B")
	sent, began := w.traffic.bytes.Load(), time.Now()
	renewed, err := r.renew(ctx)
	if err == nil && renewed != size {
		err = fmt.Errorf("%d of %d attachments were renewed", renewed, size)
	}
	p.add("one renewal of all", float64(time.Since(began).Microseconds())/1000, "ms")
	p.add("bytes of that renewal", float64(w.traffic.bytes.Load()-sent), "B")
	return p, err
}
