package main

import (
	"context"
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
	"github.com/snowgrid/snowgrid/wire"
)

const aboutNames = `Three members, one backup of everything, names of 16 bytes, nobody attached but one client with
a hundred handles. Heap is what all three members together grow by, for each name and each of its two
copies. Then a fourth member joins, which takes over its share of all tables; and then an owner's machine
ends without a word, and a new client asks for a logical node of a name that it owned.`

// startThree forms a grid of three, and returns a holder that makes its own calls.
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

// measureNames measures what so many sequencers cost.
func measureNames(ctx context.Context, size int) (point, error) {
	w, r, err := startThree(ctx)
	if err != nil {
		return point{}, err
	}
	defer w.end()
	if _, err := each(1000, func(i int) error { _, err := r.create(ctx, fmt.Sprint("warm-up ", i)); return err }); err != nil {
		return point{}, err
	}
	p := point{size: size}
	before := heap()
	took, err := each(size, func(i int) error { _, err := r.create(ctx, nameOf(i)); return err })
	if err != nil {
		return p, err
	}
	p.add("creates a second", float64(size)/took.Seconds(), "")
	p.add("heap a name and copy", (heap()-before)/float64(size)/2, "B")

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
	p.add("renewals a second", rest.renewals, "")
	p.add("idle traffic", rest.bytes/1000, "kB/s")
	p.add("idle cores", rest.cores, "")

	began := time.Now()
	if err := w.join(ctx, memberName(3)); err != nil {
		return p, err
	}
	p.add("a member joins, in sync", time.Since(began).Seconds(), "s")
	took, err = w.failOver(ctx, nameOf(0))
	p.add("fail over", took.Seconds(), "s")
	return p, err
}

// failOver ends the owner of a name, and returns how long a new client waits then for
// its first ID.
func (w *world) failOver(ctx context.Context, name string) (time.Duration, error) {
	owner := w.ownerOf(name)
	if owner == "" {
		return 0, fmt.Errorf("nobody owns %q", name)
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

const aboutNodes = `Three members, one backup of everything; one holder attaches so many logical nodes, spread over a
hundred sequencers at most (which have 8,192 each). Heap is what all three members together grow by, for
each attachment and each of its two copies. The holder renews all of them with one call to each owner.`

// measureNodes measures what so many attachments cost.
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
		// One sequencer after the other: what is being added to is not renewed meanwhile.
		return r.attach(ctx, sequencers[i*len(sequencers)/size])
	})
	if err != nil {
		return p, err
	}
	p.add("attaches a second", float64(size)/took.Seconds(), "")
	p.add("heap an attachment and copy", (heap()-before)/float64(size)/2, "B")
	sent, began := w.traffic.bytes.Load(), time.Now()
	renewed, err := r.renew(ctx)
	if err == nil && renewed != size {
		err = fmt.Errorf("%d of %d attachments were renewed", renewed, size)
	}
	p.add("a renewal of all", float64(time.Since(began).Microseconds())/1000, "ms")
	p.add("its bytes", float64(w.traffic.bytes.Load()-sent), "B")
	return p, err
}
