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
	// SignEvery is how often a process with a number shows that it is alive.
	SignEvery = 5 * time.Second
	// aliveFor is how long a process counts as alive after a sign. For as long, a new
	// leader does not know which processes run.
	aliveFor = 3 * SignEvery

	numbersPending = 256 // steps of sets that are being agreed on
	cleanTries     = 3   // of a clean whose processes register meanwhile
)

// numbers are the steps of sets that are being agreed on, and what this leader has heard
// of the processes that have numbers. The roster has neither addresses of clients that can
// be probed nor times, so who is alive is known to the leader alone, and only after it has
// led for a while.
type numbers struct {
	// began is when the lead began, or this process went on after a pause in which it
	// missed signs; last is when it was asked or stepped last.
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

// sign is the last that was heard of a process.
type sign struct {
	at    time.Duration
	nodes map[string]uint16 // its logical nodes, by sequencer
}

// Life says whether a process with a number runs.
type Life int

// The values of Life.
const (
	LifeUnknown Life = iota // this leader has not led for long enough
	LifeAlive
	LifeGone
)

func newNumbers() numbers {
	return numbers{signs: map[numberOf]sign{}, pending: map[*roster.Identity]func(View, error){}}
}

// begin records when the lead began, and that this leader runs now.
func (n *numbers) begin(now time.Duration) {
	if !n.running || now-n.last > SignEvery {
		n.began, n.running = now, true
	}
	n.last = now
}

// Identify takes a step of a set. The reply is nil when the step is in the roster, and
// the roster's refusal. Proposed is false if the roster that this leader has applied decided
// it: the caller then has to confirm that this leader still leads before it passes
// the answer on.
func (l *Leader) Identify(v View, c roster.Identity, reply func(proposed bool, err error)) {
	if err := c.CheckNew(v.Roster); err != nil {
		reply(false, numberError(err))
		return
	}
	l.identify(v, &c, func(_ View, proposed bool, err error) { reply(proposed, numberError(err)) })
}

func (l *Leader) identify(v View, c *roster.Identity, reply func(v View, proposed bool, err error)) {
	l.numbers.begin(v.Mono)
	command := roster.Command{Claim: v.Roster.Claim, Identity: c}
	next, err := v.Roster.Apply(command)
	switch {
	case err != nil || next == v.Roster:
		reply(v, false, err)
	case !l.claims(v.Roster):
		reply(v, false, errUnclaimed)
	case len(l.numbers.pending) >= numbersPending:
		reply(v, true, failure.Errorf(ErrUnavailable, "grid: %d steps of sets are being agreed on at this moment; try again", numbersPending))
	default:
		l.numbers.pending[c] = func(v View, err error) { reply(v, true, err) }
		l.member.Propose(command)
	}
}

// identified records the outcome of a step of a set.
func (n *numbers) identified(v View, c *roster.Identity, err error) {
	if reply := n.pending[c]; reply != nil {
		delete(n.pending, c)
		reply(v, err)
	}
}

// resign answers the steps that are being agreed on. Whether they will be is not known.
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
	case err == nil, errors.Is(err, roster.ErrIDRefused), errors.Is(err, roster.ErrNotRegistered), errors.Is(err, roster.ErrUnknownSet),
		errors.Is(err, roster.ErrFenced), errors.Is(err, ErrNotLeading):
		return err
	case errors.Is(err, roster.ErrInvalid):
		return failure.Errorf(ErrBadRequest, "grid: %w", err)
	case errors.Is(err, roster.ErrRefused):
		return failure.Errorf(ErrNotNow, "grid: %w", err)
	}
	return failure.Errorf(ErrUnavailable, "grid: %w", err)
}

// Sign records that the process with a number is alive, with its logical nodes by
// sequencer; nil keeps those that were recorded before. It returns the earlier ones.
func (l *Leader) Sign(v View, cluster, set string, id uint64, nodes map[string]uint16) (before map[string]uint16) {
	n := &l.numbers
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

// LifeOf reports whether the process with a number runs: a member of the grid does while the
// roster has it or gossip sees it, and any process does for a while after its last sign.
func (l *Leader) LifeOf(v View, cluster, set string, m roster.Numbered) Life {
	n := &l.numbers
	n.begin(v.Mono)
	if m.Member != "" && v.seesMember(m.Member) {
		return LifeAlive
	}
	if s, heard := n.signs[numberOf{cluster, set, m.ID}]; heard && v.Mono-s.at < aliveFor {
		return LifeAlive
	}
	if v.Mono-n.began < aliveFor {
		return LifeUnknown
	}
	return LifeGone
}

// seesMember reports whether a member is in the roster, or gossip sees it.
func (v View) seesMember(id roster.MemberID) bool {
	if _, found := registered(v.Roster, id); found {
		return true
	}
	for _, p := range v.Peers {
		if p.Incarnation.Member() == id {
			return true
		}
	}
	return false
}

// Clean removes numbers of a set whose processes are gone; force also those of others.
// The reply has the numbers that were removed. Errors match [ErrAlive], or are those of
// [Leader.Identify].
func (l *Leader) Clean(v View, cluster, set string, ids []uint64, force bool, reply func(removed []uint64, proposed bool, err error)) {
	l.clean(v, cluster, set, ids, force, cleanTries, reply)
}

func (l *Leader) clean(v View, cluster, set string, ids []uint64, force bool, tries int, reply func(removed []uint64, proposed bool, err error)) {
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
		if text := l.aliveText(v, cluster, set, m); text != "" {
			alive = append(alive, text)
		}
	}
	if len(alive) > 0 && !force {
		reply(nil, false, failure.Errorf(ErrAlive, "grid: nothing was removed from %s/%s: %s; stop them first, or remove them all the same with --force", cluster, set, strings.Join(alive, ", ")))
		return
	}
	l.identify(v, &c, func(v View, proposed bool, err error) {
		if errors.Is(err, roster.ErrStale) && tries > 1 { // one has registered since
			l.clean(v, cluster, set, ids, force, tries-1, reply)
			return
		}
		for _, id := range removed {
			if err == nil {
				delete(l.numbers.signs, numberOf{cluster, set, id})
			}
		}
		reply(removed, proposed, numberError(err))
	})
}

// aliveText says why a number is not removed, "" if its process is gone.
func (l *Leader) aliveText(v View, cluster, set string, m roster.Numbered) string {
	switch l.LifeOf(v, cluster, set, m) {
	case LifeAlive:
		return fmt.Sprintf("number %d at %q is alive", m.ID, m.Addr)
	case LifeUnknown:
		return fmt.Sprintf("number %d at %q may be alive, which this leader, elected a moment ago, knows in %s",
			m.ID, m.Addr, (aliveFor - (v.Mono - l.numbers.began)).Round(time.Second))
	}
	return ""
}
