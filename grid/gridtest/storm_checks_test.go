package gridtest_test

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid"

	"github.com/snowgrid/snowgrid/sequencer"
)

// Limits of the recovery of a grid after its last fault.
const (
	// firstLimit is for a leader to be elected and a silent member to be removed, which takes 8 s. The
	// partitions that were lost with it give nothing out for a window after that.
	firstLimit = 15 * time.Second
	startLimit = 30 * time.Second
	fullLimit  = 60 * time.Second
)

// first waits until every client has an ID.
func (s *storm) first(limit time.Time) {
	var wg sync.WaitGroup
	for host, c := range s.client {
		wg.Go(func() { s.firstOf(host, c, limit) })
	}
	wg.Wait()
}

// firstOf takes a client's first ID after everything. The load uses the same
// handle, and may detach or destroy it at any time.
func (s *storm) firstOf(host string, c *client.Client, limit time.Time) {
	ctx := within(s.t, time.Until(limit))
	again := []error{sequencer.ErrDetached, sequencer.ErrDestroyed, sequencer.ErrAttached}
	for {
		handle, err := c.CreateSequencer(ctx, "orders", sequencer.Config{Nodes: 128})
		if err == nil && handle.State() == sequencer.Detached {
			err = handle.AttachLogicalNode(ctx)
		}
		if err == nil {
			_, err = s.ids.caller(host).next(ctx, handle)
		}
		if err == nil {
			return
		}
		if ctx.Err() != nil || !matches(err, again) {
			s.t.Errorf("%s has no ID %v after the heal: %v", host, firstLimit+s.window, err)
			if handle != nil {
				s.t.Logf("%s: %v %+v", host, handle.State(), handle.Stats())
			}
			for _, name := range s.g.Running() {
				st := s.g.Member(name).Status()
				s.t.Logf("%s: cluster time %v, ceiling %v, leader %q, version %d", name, st.ClusterTime, st.Ceiling, st.Leader,
					st.Version)
			}
			return
		}
	}
}

// awaitFull waits until every partition has all its copies and all members agree on it, and
// returns that time.
func (s *storm) awaitFull(limit time.Time) time.Time {
	what := s.lacking()
	for ; what != "" && time.Now().Before(limit); what = s.lacking() {
		time.Sleep(100 * time.Millisecond)
	}
	if what != "" {
		s.t.Fatalf("not at full number %v after the heal: %s", fullLimit, what)
	}
	return time.Now()
}

// lacking returns the first condition that a full grid does not meet.
func (s *storm) lacking() string {
	if what := lacking(s.g); what != "" {
		return what
	}
	running := s.g.Running()
	first := s.g.Member(running[0]).Status()
	for _, name := range running {
		st := s.g.Member(name).Status()
		if st.Version != first.Version || st.Leader != first.Leader {
			return fmt.Sprintf("%s knows version %d and leader %q, %s %d and %q", name, st.Version, st.Leader, running[0],
				first.Version, first.Leader)
		}
		if !reflect.DeepEqual(st.Partitions, first.Partitions) {
			return fmt.Sprintf("%s and %s know different partitions at version %d", name, running[0], st.Version)
		}
	}
	return ""
}

// node is a logical node of a life of a name.
type node struct {
	name string
	node sequencer.NodeID
}

// checkNodes fails the test unless each attached handle has its logical node to
// itself and is in its owner's table. The load continues meanwhile, so an error counts only
// if it lasts. It returns the number of attached handles.
func (s *storm) checkNodes() int {
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		n, wrong := s.wrongNodes()
		if len(wrong) == 0 {
			return n
		}
		if time.Now().After(end) {
			for _, what := range wrong {
				s.t.Error(what)
			}
			return n
		}
	}
}

func (s *storm) wrongNodes() (n int, wrong []string) {
	holders, lives := map[node]string{}, map[string]grid.SequencerInfo{}
	for _, name := range s.g.Running() {
		st := s.g.Member(name).Status()
		for _, q := range st.Sequencers {
			if other, twice := lives[q.Name]; twice {
				wrong = append(wrong, fmt.Sprintf("%s is owned by %s and %s", q.Name, other.Owner, q.Owner))
			}
			if st.OwnerOf(q.Name) != st.Answering {
				wrong = append(wrong, fmt.Sprintf("%s answers for %s, which it does not own", name, q.Name))
			}
			lives[q.Name] = q
		}
	}
	for host, c := range s.holders() {
		for _, name := range s.names {
			handle, err := c.OpenSequencer(within(s.t, 5*time.Second), name)
			if err != nil || handle.State() != sequencer.Attached {
				continue
			}
			at, _ := handle.LogicalNode()
			n++
			if other, twice := holders[node{name, at}]; twice {
				wrong = append(wrong, fmt.Sprintf("logical node %d of %s is attached by %s and %s", at, name, other, host))
			}
			holders[node{name, at}] = host
			if !slices.Contains(lives[name].AttachedNodes, at) {
				wrong = append(wrong, fmt.Sprintf("the table lacks logical node %d of %s, which %s has: %+v", at, name, host,
					lives[name]))
			}
		}
	}
	return n, wrong
}

// holders are all who take IDs, by host.
func (s *storm) holders() map[string]creator {
	out := map[string]creator{}
	for host, c := range s.client {
		out[host] = c
	}
	for _, name := range s.g.Running() {
		out[name] = s.g.Member(name)
	}
	return out
}
