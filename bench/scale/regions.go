package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/sequencer"
)

const aboutRegions = `Five members, all of which vote, in two regions with a round trip of so many milliseconds, three in the one and two in the other,
each stated as the zone of its members, so that the backup of a name is in the other region than its owner. Times of a first
ID are those of a new client in the larger region that knows the grid, and the median of 21 new names: here with an owner in its
region, and there with one in the other. Alarms are changes of the roster or of its leader during the count of the traffic. Then
both members of the smaller region fall silent, and a client in the larger one wants an ID of a name that is owned there. In another
such grid the process of an owner in the larger region ends.`

const (
	regionsTook  = 21  // first IDs per median
	regionsFirst = 900 // the first unused name
)

// regionOf returns a member's region: the first three are in the larger one.
func regionOf(member string) string {
	if member == memberName(3) || member == memberName(4) {
		return "there"
	}
	return "here"
}

// measureRegions measures a grid in two regions with a round trip of trip milliseconds.
func measureRegions(ctx context.Context, trip int) (point, error) {
	p := point{size: trip}
	began := time.Now()
	w, err := startRegions(ctx, trip)
	if err != nil {
		return p, err
	}
	defer w.end()
	p.add("start, until in sync", time.Since(began).Seconds(), "s")
	next := regionsFirst
	for _, region := range []string{"here", "there"} {
		took, err := w.firstIDs(ctx, region, &next)
		if err != nil {
			return p, err
		}
		p.add("first ID, owner "+region, float64(took.Microseconds())/1000, "ms")
	}
	before := w.anyMember().Status()
	rest := w.observe()
	after := w.anyMember().Status()
	p.add("idle traffic", rest.bytes/1000, "kB/s")
	p.add("idle cores", rest.cores, "")
	alarms := 0.0
	if after.Leader != before.Leader || after.Version != before.Version {
		alarms = 1
	}
	p.add("alarms", alarms, "")
	if err := w.loseRegion(ctx, &p, next); err != nil {
		return p, err
	}
	other, err := startRegions(ctx, trip)
	if err != nil {
		return p, err
	}
	defer other.end()
	name, err := other.ownedIn("here", next)
	if err != nil {
		return p, err
	}
	took, err := other.failOver(ctx, name)
	p.add("an owner here has ended: first ID", took.Seconds(), "s")
	return p, err
}

// startRegions starts members in two regions with a round trip of trip milliseconds.
func startRegions(ctx context.Context, trip int) (*world, error) {
	w := newWorld(5)
	w.zone, w.voters = regionOf, w.size
	for i := range w.size {
		w.network.SetRegion(memberName(i), regionOf(memberName(i)))
	}
	for _, host := range []string{"user", "newcomer"} {
		w.network.SetRegion(host, "here")
	}
	w.network.SetRegionDelay(time.Duration(trip) * time.Millisecond / 2)
	return w, w.start(ctx)
}

// firstIDs returns the time for a new name's first ID, if its owner is in a region.
func (w *world) firstIDs(ctx context.Context, region string, next *int) (time.Duration, error) {
	user, err := w.client(ctx, "user")
	if err != nil {
		return 0, err
	}
	var all []time.Duration
	for ; len(all) < regionsTook; *next++ {
		name := nameOf(*next)
		if regionOf(w.ownerOf(name)) != region {
			continue
		}
		began := time.Now()
		s, err := user.CreateSequencer(ctx, name, sequencer.Config{})
		if err != nil {
			return 0, err
		}
		if _, err := s.Next(ctx); err != nil {
			return 0, err
		}
		all = append(all, time.Since(began))
	}
	slices.Sort(all)
	return all[len(all)/2], nil
}

// loseRegion disconnects both members in the other region, and reconnects them.
func (w *world) loseRegion(ctx context.Context, p *point, next int) error {
	name, err := w.ownedIn("there", next)
	if err != nil {
		return err
	}
	user, err := w.client(ctx, "user")
	if err != nil {
		return err
	}
	began := time.Now()
	w.eachThere(w.network.Pause)
	defer w.eachThere(w.network.Resume)
	s, err := user.CreateSequencer(ctx, name, sequencer.Config{})
	if err != nil {
		return err
	}
	if _, err = s.Next(ctx); err != nil {
		return err
	}
	p.add("the other region is silent: first ID", time.Since(began).Seconds(), "s")
	return nil
}

// eachThere calls f for each member of the smaller region.
func (w *world) eachThere(f func(member string)) {
	for i := range w.size {
		if member := memberName(i); regionOf(member) == "there" {
			f(member)
		}
	}
}

// ownedIn returns a name with an owner in a region; it tries the numbers in order.
func (w *world) ownedIn(region string, from int) (string, error) {
	for i := range 1000 {
		if owner := w.ownerOf(nameOf(from + i)); owner != "" && regionOf(owner) == region {
			return nameOf(from + i), nil
		}
	}
	return "", fmt.Errorf("nobody in the region %q owns a name", region)
}

// anyMember returns a running member.
func (w *world) anyMember() *grid.Member {
	for _, m := range w.members {
		return m
	}
	return nil
}
