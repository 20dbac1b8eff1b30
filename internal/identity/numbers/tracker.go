package numbers

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
)

const (
	// SignEvery is the interval at which a process with a number signals that it is alive.
	SignEvery = 5 * time.Second
	// aliveFor is the time after a signal during which a process counts as alive. A new leader
	// cannot distinguish live processes for as long.
	aliveFor = 3 * SignEvery

	maxPending = 256 // commands that are being agreed on
	cleanTries = 3   // of a clean whose processes register meanwhile
)

// View is a leader's view at one moment.
type View struct {
	Registry Registry
	Grid     string                   // the grid's name
	Now      time.Duration            // by the monotonic clock
	Sees     func(member string) bool // reports whether a member is in the grid, or seen by gossip
	// Try reports whether a command would change the roster. An error is the reason not to propose it.
	Try     func(c *Command) (changed bool, err error)
	Propose func(c *Command) // proposes a command; its outcome goes to [Tracker.Proposed]
}

// Tracker proposes the commands during one lead, and records the signs of life of the processes that
// have numbers. The roster contains neither times nor addresses of clients that could be probed, so
// only the leader can tell which processes are alive, and only after it has led for a while.
type Tracker struct {
	v View // the newest one

	// began is the start of the lead, or the end of a pause of this process in which it may have
	// missed signs.
	began   time.Duration
	running bool // there was a view
	signs   map[numberOf]sign
	pending map[*Command]func(err error)
}

type numberOf struct {
	cluster, set string
	id           uint64
}

// sign is the last sign of life of a process.
type sign struct {
	at    time.Duration
	nodes map[string]uint16 // its logical nodes, by sequencer
}

// Liveness is the state of a process with a number.
type Liveness int

// The values of Liveness.
const (
	LivenessUnknown Liveness = iota // this leader has not led for long enough
	Alive
	Dead
)

// Outcome is the outcome of a request.
type Outcome struct {
	Removed []uint64 // by a clean
	// Proposed reports that the log has decided. If not, the registry that this leader has applied
	// did: the caller then confirms that this leader still leads before it passes the outcome on.
	Proposed bool
	Err      error // [ErrInvalid], [ErrAlive], or an error of [Registry.Apply], [View] or the log
}

// NewTracker returns the tracker of a new lead.
func NewTracker() Tracker {
	return Tracker{signs: map[numberOf]sign{}, pending: map[*Command]func(error){}}
}

// Look takes the newest view. It precedes every other call.
func (t *Tracker) Look(v View) {
	if !t.running || v.Now-t.v.Now > SignEvery {
		t.began, t.running = v.Now, true
	}
	t.v = v
}

// Request checks a command and proposes it. The outcome has no error when the command is in the
// roster.
func (t *Tracker) Request(c Command, reply func(Outcome)) {
	if err := c.CheckNew(t.v.Registry, t.v.Grid); err != nil {
		reply(Outcome{Err: err})
		return
	}
	t.propose(&c, func(proposed bool, err error) { reply(Outcome{Proposed: proposed, Err: err}) })
}

func (t *Tracker) propose(c *Command, reply func(proposed bool, err error)) {
	changed, err := t.v.Try(c)
	switch {
	case err != nil || !changed:
		reply(false, err)
	case len(t.pending) >= maxPending:
		reply(true, fmt.Errorf("%d steps of sets are being agreed on at this moment; try again", maxPending))
	default:
		t.pending[c] = func(err error) { reply(true, err) }
		t.v.Propose(c)
	}
}

// Pending returns the number of commands that are being agreed on.
func (t *Tracker) Pending() int { return len(t.pending) }

// Proposed records the outcome of a command.
func (t *Tracker) Proposed(c *Command, err error) {
	if reply := t.pending[c]; reply != nil {
		delete(t.pending, c)
		reply(err)
	}
}

// Resign answers the proposed commands with an error. They may still be agreed on.
func (t *Tracker) Resign(err error) {
	pending := maps.Clone(t.pending)
	clear(t.pending)
	for _, reply := range pending {
		reply(err)
	}
}

// Sign records that the process with a number is alive, with its logical nodes by sequencer. nil
// keeps the recorded nodes. It returns the earlier nodes.
func (t *Tracker) Sign(cluster, set string, id uint64, nodes map[string]uint16) (before map[string]uint16) {
	if len(t.signs) >= 2*MaxNumbered { // at most half of them are of processes with a number
		maps.DeleteFunc(t.signs, func(of numberOf, _ sign) bool {
			s, _ := t.v.Registry.Set(of.cluster, of.set)
			_, has := s.Process(of.id)
			return !has
		})
	}
	of := numberOf{cluster, set, id}
	before = t.signs[of].nodes
	if nodes == nil {
		nodes = before
	}
	t.signs[of] = sign{at: t.v.Now, nodes: nodes}
	return before
}

// LivenessOf returns the state of the process with a number: a member of the grid is alive while
// the roster lists it or gossip sees it, and any process is alive for a while after its last sign.
func (t *Tracker) LivenessOf(cluster, set string, p Process) Liveness {
	if p.Member != "" && t.v.Sees(p.Member) {
		return Alive
	}
	if s, heard := t.signs[numberOf{cluster, set, p.ID}]; heard && t.v.Now-s.at < aliveFor {
		return Alive
	}
	if t.v.Now-t.began < aliveFor {
		return LivenessUnknown
	}
	return Dead
}

// Clean removes the numbers of a set whose processes are dead; force removes all.
func (t *Tracker) Clean(cluster, set string, ids []uint64, force bool, reply func(Outcome)) {
	t.clean(cluster, set, ids, force, cleanTries, reply)
}

// clean removes numbers of a set, with at most so many tries.
func (t *Tracker) clean(cluster, set string, ids []uint64, force bool, tries int, reply func(Outcome)) {
	s, _ := t.v.Registry.Set(cluster, set)
	c := Command{Cluster: cluster, Name: set}
	var removed []uint64
	var alive []string
	for _, id := range ids {
		p, found := s.Process(id)
		c.Clean = append(c.Clean, Cleaned{ID: id, Incarnation: p.Incarnation})
		if !found {
			continue
		}
		removed = append(removed, id)
		if text := t.aliveText(cluster, set, p); text != "" {
			alive = append(alive, text)
		}
	}
	if len(alive) > 0 && !force {
		reply(Outcome{Err: failure.Errorf(ErrAlive, "grid: nothing was removed from %s/%s: %s; stop them first, or remove "+
			"them all the same with --force", cluster, set, strings.Join(alive, ", "))})
		return
	}
	t.propose(&c, func(proposed bool, err error) {
		if errors.Is(err, errChanged) && tries > 1 { // one has registered since
			t.clean(cluster, set, ids, force, tries-1, reply)
			return
		}
		for _, id := range removed {
			if err == nil {
				delete(t.signs, numberOf{cluster, set, id})
			}
		}
		reply(Outcome{Removed: removed, Proposed: proposed, Err: err})
	})
}

// aliveText returns the reason to keep a number, empty if its process is dead.
func (t *Tracker) aliveText(cluster, set string, p Process) string {
	switch t.LivenessOf(cluster, set, p) {
	case Alive:
		return fmt.Sprintf("number %d at %q is alive", p.ID, p.Addr)
	case LivenessUnknown:
		return fmt.Sprintf("number %d at %q may be alive, which this leader, elected a moment ago, knows in %s",
			p.ID, p.Addr, (aliveFor - (t.v.Now - t.began)).Round(time.Second))
	}
	return ""
}
