package leader

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
)

const (
	// SignEvery is the interval at which a process with a number signals that it is alive.
	SignEvery = 5 * time.Second
	// aliveFor is the time after a signal during which a process counts as alive. A new leader
	// cannot distinguish live processes for as long.
	aliveFor = 3 * SignEvery

	numbersPending = 256 // steps of sets that are being agreed on
	cleanTries     = 3   // of a clean whose processes register meanwhile
)

// numbers proposes the steps of sets, and records the signs of life of the processes that have
// numbers. The roster contains neither times nor addresses of clients that could be probed, so
// only the leader can tell which processes are alive, and only after it has led for a while.
type numbers struct {
	claimant claimant
	out      proposer

	// began is the start of the lead, or the end of a pause of this process in which it may have
	// missed signs. last is the time of the last step or request.
	began, last time.Duration
	running     bool // both are set
	signs       map[numberOf]sign
	pending     map[*roster.Identity]func(v View, err error)
}

// numberOf names a number of a set.
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

func newNumbers(claimant claimant, out proposer) numbers {
	return numbers{claimant: claimant, out: out, signs: map[numberOf]sign{},
		pending: map[*roster.Identity]func(View, error){}}
}

// begin records when the lead began, and that this leader runs now.
func (n *numbers) begin(now time.Duration) {
	if !n.running || now-n.last > SignEvery {
		n.began, n.running = now, true
	}
	n.last = now
}

// request checks a step of a set and proposes it.
func (n *numbers) request(v View, c roster.Identity, reply func(proposed bool, err error)) {
	if err := c.CheckNew(v.Roster); err != nil {
		reply(false, numberError(err))
		return
	}
	n.propose(v, &c, func(_ View, proposed bool, err error) { reply(proposed, numberError(err)) })
}

func (n *numbers) propose(v View, c *roster.Identity, reply func(v View, proposed bool, err error)) {
	n.begin(v.Mono)
	command := roster.Command{Claim: v.Roster.Claim, Identity: c}
	next, err := v.Roster.Apply(command)
	switch {
	case err != nil || next == v.Roster:
		reply(v, false, err)
	case !n.claimant.claims(v.Roster):
		reply(v, false, errUnclaimed)
	case len(n.pending) >= numbersPending:
		reply(v, true, failure.Errorf(ErrUnavailable, "grid: %d steps of sets are being agreed on at this moment; try again",
			numbersPending))
	default:
		n.pending[c] = func(v View, err error) { reply(v, true, err) }
		n.out.Propose(command)
	}
}

// proposed records the outcome of a step of a set.
func (n *numbers) proposed(v View, c *roster.Identity, err error) {
	if reply := n.pending[c]; reply != nil {
		delete(n.pending, c)
		reply(v, err)
	}
}

// resign answers the proposed steps. They may still be agreed on.
func (n *numbers) resign() {
	pending := maps.Clone(n.pending)
	clear(n.pending)
	for _, reply := range pending {
		reply(View{}, errNotLeading)
	}
}

// numberError returns the error of a step. The roster's own refusals keep their kinds.
func numberError(err error) error {
	switch {
	case err == nil, errors.Is(err, roster.ErrIDRefused), errors.Is(err, roster.ErrNotRegistered),
		errors.Is(err, roster.ErrUnknownSet),
		errors.Is(err, roster.ErrFenced), errors.Is(err, ErrNotLeading):
		return err
	case errors.Is(err, roster.ErrInvalid):
		return failure.Errorf(ErrBadRequest, "grid: %w", err)
	case errors.Is(err, roster.ErrRefused):
		return failure.Errorf(ErrNotNow, "grid: %w", err)
	}
	return failure.Errorf(ErrUnavailable, "grid: %w", err)
}

// sign records that the process with a number is alive, with its logical nodes by sequencer. nil
// keeps the recorded nodes. It returns the earlier nodes.
func (n *numbers) sign(v View, cluster, set string, id uint64, nodes map[string]uint16) (before map[string]uint16) {
	n.begin(v.Mono)
	if len(n.signs) >= 2*roster.MaxNumbered { // at most half of them are of processes with a number
		maps.DeleteFunc(n.signs, func(of numberOf, _ sign) bool {
			s, _ := v.Roster.Set(of.cluster, of.set)
			_, has := s.Numbered(of.id)
			return !has
		})
	}
	of := numberOf{cluster, set, id}
	before = n.signs[of].nodes
	if nodes == nil {
		nodes = before
	}
	n.signs[of] = sign{at: v.Mono, nodes: nodes}
	return before
}

// livenessOf returns the state of the process with a number: a member of the grid is alive while
// the roster lists it or gossip sees it, and any process is alive for a while after its last sign.
func (n *numbers) livenessOf(v View, cluster, set string, m roster.Numbered) Liveness {
	n.begin(v.Mono)
	if m.Member != "" && v.seesMember(m.Member) {
		return Alive
	}
	if s, heard := n.signs[numberOf{cluster, set, m.ID}]; heard && v.Mono-s.at < aliveFor {
		return Alive
	}
	if v.Mono-n.began < aliveFor {
		return LivenessUnknown
	}
	return Dead
}

// clean removes numbers of a set, with at most so many tries.
func (n *numbers) clean(v View, cluster, set string, ids []uint64, force bool, tries int,
	reply func(removed []uint64, proposed bool, err error)) {
	s, _ := v.Roster.Set(cluster, set)
	c := roster.Identity{Cluster: cluster, Name: set}
	var removed []uint64
	var alive []string
	for _, id := range ids {
		m, found := s.Numbered(id)
		c.Clean = append(c.Clean, roster.Cleaned{ID: id, Incarnation: m.Incarnation})
		if !found {
			continue
		}
		removed = append(removed, id)
		if text := n.aliveText(v, cluster, set, m); text != "" {
			alive = append(alive, text)
		}
	}
	if len(alive) > 0 && !force {
		reply(nil, false, failure.Errorf(ErrAlive, "grid: nothing was removed from %s/%s: %s; stop them first, or remove them all the same with --force", cluster, set, strings.Join(alive, ", ")))
		return
	}
	n.propose(v, &c, func(v View, proposed bool, err error) {
		if errors.Is(err, roster.ErrStale) && tries > 1 { // one has registered since
			n.clean(v, cluster, set, ids, force, tries-1, reply)
			return
		}
		for _, id := range removed {
			if err == nil {
				delete(n.signs, numberOf{cluster, set, id})
			}
		}
		reply(removed, proposed, numberError(err))
	})
}

// aliveText returns the reason to keep a number, empty if its process is dead.
func (n *numbers) aliveText(v View, cluster, set string, m roster.Numbered) string {
	switch n.livenessOf(v, cluster, set, m) {
	case Alive:
		return fmt.Sprintf("number %d at %q is alive", m.ID, m.Addr)
	case LivenessUnknown:
		return fmt.Sprintf("number %d at %q may be alive, which this leader, elected a moment ago, knows in %s",
			m.ID, m.Addr, (aliveFor - (v.Mono - n.began)).Round(time.Second))
	}
	return ""
}
