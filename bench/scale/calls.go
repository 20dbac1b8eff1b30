package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
	"sync"
	"sync/atomic"
	"time"
)

// countedCalls is a transport that counts renewals.
type countedCalls struct {
	*calls.Pool
	renewed *atomic.Int64
}

// Call implements calls.Transport.
func (t countedCalls) Call(ctx context.Context, addr, path string, in, out any) error {
	if path == wire.PathRenew {
		t.renewed.Add(1)
	}
	return t.Pool.Call(ctx, addr, path, in, out)
}

// callers is the number of concurrent calls.
const callers = 64

// each calls f for 0 to n-1 from many goroutines, and returns the total time.
func each(n int, f func(i int) error) (time.Duration, error) { return eachBy(callers, n, f) }

// eachBy calls f for 0 to n-1 from the given number of goroutines, and returns the total time.
func eachBy(callers, n int, f func(i int) error) (time.Duration, error) {
	var next atomic.Int64
	var all sync.WaitGroup
	failed := make([]error, callers)
	began := time.Now()
	for at := range callers {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && failed[at] == nil; i = next.Add(1) - 1 {
				failed[at] = f(int(i))
			}
		})
	}
	all.Wait()
	return time.Since(began), errors.Join(failed...)
}

// nameOf returns a 16-byte name.
func nameOf(i int) string { return fmt.Sprintf("sequencer%07d", i) }

// remote is a holder that makes its own calls to owners, as a process in another language would. It
// stores little, so the growth of the heap is due to the members.
type remote struct {
	http      *calls.Pool
	directory atomic.Pointer[wire.DirectoryResponse] // it changes when the grid moves a partition
	holder    attachment.HolderID

	mu   sync.Mutex
	sets map[roster.PartitionID]*wire.ClaimSet // its attachments
}

// remote returns a holder with a directory.
func (w *world) remote(ctx context.Context) (*remote, error) {
	h := countedHost{w.network.Host("remote"), &w.traffic}
	r := &remote{http: calls.NewPool(h.Dial, nil), holder: handles.NewHolder(),
		sets: map[roster.PartitionID]*wire.ClaimSet{}}
	return r, r.lookUp(ctx)
}

// lookUp requests the directory from a member.
func (r *remote) lookUp(ctx context.Context) error {
	var d wire.DirectoryResponse
	err := r.http.Call(ctx, memberName(0)+":7948", wire.PathDirectory, wire.DirectoryRequest{}, &d)
	if err == nil {
		r.directory.Store(&d)
	}
	return err
}

// owner returns the address of a partition's owner.
func (r *remote) owner(id roster.PartitionID) string {
	d := r.directory.Load()
	return d.Members[d.Owners[id]].API
}

func (r *remote) partition(name string) roster.PartitionID {
	return roster.PartitionOf(name, len(r.directory.Load().Owners))
}

// call repeats a call to a name's owner until it succeeds: a new grid briefly checks for an earlier
// generation, and a busy one may move a partition.
func (r *remote) call(ctx context.Context, id roster.PartitionID, path string, in, out any) error {
	for {
		err := r.http.Call(ctx, r.owner(id), path, in, out)
		moved := errors.Is(err, roster.ErrWrongOwner)
		if !moved && !errors.Is(err, sequencer.ErrUnavailable) || ctx.Err() != nil {
			return err
		}
		if moved {
			if err := r.lookUp(ctx); err != nil {
				return err
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// create creates a sequencer.
func (r *remote) create(ctx context.Context, name string) (wire.Sequencer, error) {
	var res wire.SequencerResponse
	err := r.call(ctx, r.partition(name), wire.PathCreate, wire.CreateRequest{Name: name}, &res)
	return res.Sequencer, err
}

// attach attaches a logical node in a sequencer.
func (r *remote) attach(ctx context.Context, s wire.Sequencer) error {
	id := r.partition(s.Name)
	claim := wire.Claim{Sequencer: s}
	_, _ = rand.Read(claim.ID[:])
	var res wire.AttachResponse
	if err := r.call(ctx, id, wire.PathAttach, wire.AttachRequest{Holder: r.holder, Claim: claim}, &res); err != nil {
		return err
	}
	print := attachment.FingerprintOf(s.Life, attachment.Attachment{ID: claim.ID, Node: res.Node, Grant: res.Grant})
	r.mu.Lock()
	defer r.mu.Unlock()
	set := r.sets[id]
	if set == nil {
		set = &wire.ClaimSet{Partition: id}
		r.sets[id] = set
	}
	set.Count++
	set.Print = set.Print.With(print)
	return nil
}

// renew presents to each owner everything that is attached there, in one call, and returns the
// number of renewed attachments.
func (r *remote) renew(ctx context.Context) (renewed int, err error) {
	byOwner := map[string]*wire.RenewRequest{}
	r.mu.Lock()
	for id, set := range r.sets {
		owner := r.owner(id)
		if byOwner[owner] == nil {
			byOwner[owner] = &wire.RenewRequest{Holder: r.holder, Grid: r.directory.Load().Grid}
		}
		byOwner[owner].Sets = append(byOwner[owner].Sets, *set)
	}
	r.mu.Unlock()
	for owner, req := range byOwner {
		var res wire.RenewResponse
		if err := r.http.Call(ctx, owner, wire.PathRenew, req, &res); err != nil {
			return renewed, err
		}
		for i, until := range res.Sets {
			if until > 0 {
				renewed += req.Sets[i].Count
			}
		}
	}
	return renewed, nil
}

// renewUntil renews every few seconds until stop is closed.
func (r *remote) renewUntil(ctx context.Context, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(2 * time.Second):
			_, _ = r.renew(ctx) // a failed renewal is repeated, long before it would expire
		}
	}
}
