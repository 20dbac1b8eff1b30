package session

import (
	"errors"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// A renewal has, for each partition, the number of the process's handles and their combined
// fingerprint, so its size is independent of their number. Only handles with a different record at the
// owner, after a change of owner or a lost reply, are presented as claims.

const (
	// RetryAfter is the delay before the second try of a renewal, and the retry interval for a grant that is
	// about to end.
	RetryAfter = 300 * time.Millisecond
	// claimsPerCall bounds the claims in one call: with the longest names and an error for each, the reply
	// still fits into a body.
	claimsPerCall = 256
	// silentTries is the number of renewal timeouts in succession before the owner is looked up. A slow owner
	// answers before that, and a crashed one has been replaced by then, long before a grant ends.
	silentTries = 2
	// failuresMax bounds the counts of failures and of short grants in succession.
	failuresMax = 10
	// manyTries is the number of short grants or timeouts in succession after which look-ups are limited to
	// one per half a window, instead of one per eighth. They take longer than half a window, in which the
	// last grant of a replaced owner ends. With long windows look-ups are more frequent near the end of a grant.
	manyTries = 5
	// deniedRetry is the delay before a denied renewal is retried: the process may get another certificate or
	// token at runtime.
	deniedRetry = 5 * time.Second
)

// ErrDenied is matched by the error of a call without permission. The driver maps such errors to it.
var ErrDenied = errors.New("denied")

// ClaimSet is all handles of a process in one partition, by their number and combined fingerprint.
type ClaimSet struct {
	Partition roster.PartitionID
	Count     int
	Print     attachment.Fingerprint
}

// Renewal is one call that renews handles at an owner, by sets or by claims. Its
// answer goes to [Machine.Renewed].
type Renewal struct {
	Owner  string        // its address
	Grid   roster.GridID // the directory from which the sets are computed
	Sets   []ClaimSet
	Claims []Claim
	Used   []Used // for metrics

	began   time.Duration
	sets    []set
	handles []*Handle               // the claims' handles
	shown   []attachment.Attachment // by the claims
	rest    []*Handle               // to present as claims after this call
}

// Renewed is the answer to a renewal.
type Renewed struct {
	Stamp  Stamp
	Sets   []clustertime.Tick // new end of each set's grants, 0 to require claims
	Claims []ClaimRenewed
	// Pace is the requested time to the next renewal, set by a busy member; 0 is the default.
	Pace time.Duration
}

// ClaimRenewed is the answer to one claim.
type ClaimRenewed struct {
	Grant attachment.Grant
	Err   error
}

// group is the handles in one owner's partitions.
type group struct {
	owner   string // its address, "" for partitions without an owner
	handles []*Handle
}

// set is the handles in one partition, as presented.
type set struct {
	ClaimSet
	handles []*Handle
	shown   []attachment.Attachment // the newest reply about each at the time of the request
	whole   bool                    // the fingerprint covers answers about all of them
}

// byOwner returns the handles by their owners, in an order that follows from the events.
func (m *Machine) byOwner() []*group {
	if m.groups == nil {
		found := map[string]*group{}
		for _, h := range m.handles {
			owner := m.Owner(h.name)
			g := found[owner]
			if g == nil {
				g = &group{owner: owner}
				found[owner] = g
				m.groups = append(m.groups, g)
			}
			g.handles = append(g.handles, h)
		}
	}
	return m.groups
}

// join adds a handle to its owner's others, if there are any.
func (m *Machine) join(h *Handle) {
	owner := m.Owner(h.name)
	for _, g := range m.groups {
		if g.owner == owner {
			g.handles = insert(g.handles, h)
			return
		}
	}
	m.groups = nil
}

// renewDue renews all handles of an owner if one is due and no renewal is in progress
// there. One call serves them all.
func (m *Machine) renewDue(now Now, g *group) {
	due := slices.ContainsFunc(g.handles, func(h *Handle) bool { return h.next <= now.Mono })
	if !due || m.calling[g.owner] {
		return
	}
	next := now.Mono + m.pause()
	for _, h := range g.handles {
		h.next = next
	}
	if g.owner == "" {
		m.failed(now, g.owner, g.handles, sequencer.ErrUnavailable)
		return
	}
	m.calling[g.owner] = true
	r := &Renewal{Owner: g.owner, Grid: m.directory.Grid, began: now.Mono}
	for _, s := range setsOf(g.handles, len(m.owners.of)) {
		if s.whole {
			r.sets, r.Sets = append(r.sets, s), append(r.Sets, s.ClaimSet)
		} else {
			r.rest = append(r.rest, s.handles...)
		}
	}
	if len(r.Sets) == 0 {
		m.showRest(now, r)
		return
	}
	m.send(now, r)
}

// send calls the owner for a renewal.
func (m *Machine) send(now Now, r *Renewal) {
	r.Used = reportUse(now.Mono, r.all())
	m.effects.Renew = append(m.effects.Renew, r)
}

// setsOf groups handles by partition, in their order.
func setsOf(handles []*Handle, partitions int) []set {
	var out []set
	at := map[roster.PartitionID]int{}
	for _, h := range handles {
		id := roster.PartitionOf(h.name, partitions)
		i, found := at[id]
		if !found {
			i = len(out)
			at[id] = i
			out = append(out, set{ClaimSet: ClaimSet{Partition: id}, whole: true})
		}
		s := &out[i]
		shown, print, known := h.shown()
		s.whole = s.whole && known
		s.Count++
		s.Print = s.Print.With(print)
		s.handles, s.shown = append(s.handles, h), append(s.shown, shown)
	}
	return out
}

// showRest presents the rest of a renewal as claims, a call's worth at a time, or ends it.
func (m *Machine) showRest(now Now, last *Renewal) {
	rest := slices.DeleteFunc(last.rest, func(h *Handle) bool { return h.removed })
	if len(rest) == 0 {
		delete(m.calling, last.Owner)
		return
	}
	n := min(len(rest), claimsPerCall)
	r := &Renewal{Owner: last.Owner, Grid: last.Grid, began: now.Mono, handles: rest[:n:n], rest: rest[n:]}
	for _, h := range r.handles {
		held, _ := h.Control.Held()
		r.shown, r.Claims = append(r.shown, held), append(r.Claims, h.claim(held))
	}
	m.send(now, r)
}

// Renewed applies the reply to a renewal, or its error.
func (m *Machine) Renewed(now Now, r *Renewal, a Renewed, err error) {
	if err == nil && (len(a.Sets) != len(r.Sets) || len(a.Claims) != len(r.Claims)) {
		err = errors.New("client: renewal reply has a different number of sets or claims than the request")
	}
	if errors.Is(err, ErrDenied) {
		delete(m.calling, r.Owner)
		for _, h := range r.all() {
			held, _ := h.Control.Held()
			m.denied(now, h, held.ID, err)
		}
		return
	}
	if err != nil {
		delete(m.calling, r.Owner)
		m.failed(now, r.Owner, r.all(), err)
		return
	}
	m.Stamped(now, a.Stamp, r.began)
	m.paced(r, a.Pace)
	for i, s := range r.sets {
		if a.Sets[i] == 0 {
			r.rest = append(r.rest, s.handles...)
		} else {
			m.extendSet(now, s, a.Stamp, a.Sets[i])
		}
	}
	var again []*Handle
	var last error
	for i, h := range r.handles {
		if err := m.claimRenewed(now, h, r.shown[i], a.Stamp, a.Claims[i]); err != nil {
			again, last = append(again, h), err
		}
	}
	if len(again) > 0 {
		m.failed(now, r.Owner, again, last)
	}
	m.showRest(now, r)
}

// all returns the handles that a renewal has not renewed yet.
func (r *Renewal) all() []*Handle {
	var out []*Handle
	for _, s := range r.sets {
		out = append(out, s.handles...)
	}
	return slices.Concat(out, r.handles, r.rest)
}

// extendSet applies the new end of a set's grants. Their starts are unchanged.
func (m *Machine) extendSet(now Now, s set, stamp Stamp, until clustertime.Tick) {
	for i, h := range s.handles {
		if h.removed {
			continue
		}
		h.saw(stamp, now)
		if shown := s.shown[i]; !shown.ID.IsZero() {
			m.extend(now, h, stamp, shown.ID, attachment.Grant{From: shown.Grant.From, Until: until})
		}
	}
}

// claimRenewed applies the reply to one claim, about the attachment as presented. An error leads to a
// retry.
func (m *Machine) claimRenewed(now Now, h *Handle, shown attachment.Attachment, stamp Stamp, a ClaimRenewed) error {
	switch {
	case h.removed:
	case a.Err == nil:
		h.saw(stamp, now)
		if !shown.ID.IsZero() {
			h.told(attachment.Attachment{ID: shown.ID, Node: shown.Node, Grant: a.Grant})
			m.extend(now, h, stamp, shown.ID, a.Grant)
		}
	case errors.Is(a.Err, sequencer.ErrDestroyed), errors.Is(a.Err, sequencer.ErrConflict):
		m.Ended(h.name, h.Control.Ref().Life)
	case errors.Is(a.Err, sequencer.ErrDetached):
		if !h.busy {
			h.busy = true
			h.loss = &loss{id: shown.ID, pause: RetryAfter}
		}
	case errors.Is(a.Err, ErrDenied):
		m.denied(now, h, shown.ID, a.Err)
	default:
		return a.Err
	}
	return nil
}

// denied records that the process may not renew an attachment, a zero one if the handle has none. Its
// grant stays, and renewal is retried slowly.
func (m *Machine) denied(now Now, h *Handle, id attachment.ID, err error) {
	if h.removed {
		return
	}
	h.next = now.Mono + deniedRetry - m.cfg.Rand(deniedRetry/4)
	if !id.IsZero() && !h.denied {
		h.denied = true
		m.effects.Refuse = append(m.effects.Refuse, Refusal{Handle: h, ID: id, Err: err})
	}
}

// extend adds a grant to an attachment. If the grant ends too early, the attachment is renewed
// again soon, and the directory is requested: an owner that was replaced without noticing grants
// less and less. It answers without an error and by its old roster, so there is no other sign. As
// after failures the pause doubles: without a majority all processes' grants are short, and members
// that receive too many requests elect no leader.
func (m *Machine) extend(now Now, h *Handle, stamp Stamp, id attachment.ID, g attachment.Grant) {
	m.effects.Extend = append(m.effects.Extend, Extension{Handle: h, ID: id, Grant: g})
	t := now.Time
	if m.effects.Time > 0 {
		t = max(t, stamp.Time) // the clock's next reading
	}
	if g.Until.Sub(t) >= clustertime.SpanOf(m.Window()/2) {
		h.shorts = 0
		if g.From > t {
			h.next = now.Mono + RetryAfter
		}
		return
	}
	most := hurry(g.Until.Sub(t))
	m.lookUpAfter(now, h.shorts, most)
	h.next = now.Mono + min(m.slowly(h.shorts), most)
	h.shorts, h.failedAt = min(h.shorts+1, failuresMax), m.Owner(h.name)
}

// failed schedules an early renewal for handles, by their current owner at that time. Each failure
// in succession doubles the pause, so that an overloaded owner is not called more and more often.
// It does not wait for the directory: a member that hangs must not delay renewals. An overloaded
// owner that gives a retry time is not called earlier, nor looked up the first time: it has
// answered. However long that time is, renewals are frequent enough that grants do not end
// meanwhile.
func (m *Machine) failed(now Now, owner string, handles []*Handle, err error) {
	failures, most := 0, m.Window()
	later := min(laterBy(err), m.Window()/4)
	next := func(failures int) time.Duration { return m.drawn(RetryAfter<<failures, m.Window()/8) }
	if TimedOut(err) {
		next = m.slowly
	}
	for _, h := range handles {
		pause := next(h.failures)
		held, has := h.Control.Held()
		if has {
			ends := hurry(held.Grant.Until.Sub(now.Time))
			pause, most = min(pause, ends), min(most, ends)
		}
		if later > 0 {
			pause = max(pause, later+m.cfg.Rand(later/4+1))
		}
		h.next = now.Mono + pause
		h.failures, h.failedAt = min(h.failures+1, failuresMax), owner
		if has {
			h.Control.NotRenewed(held.ID, err)
		}
		failures = max(failures, h.failures)
	}
	switch {
	case !TimedOut(err) && later == 0 || failures == silentTries:
		m.lookUp(now.Mono)
	case failures > silentTries:
		m.lookUpAfter(now, failures, most)
	}
}

// lookUpAfter triggers a look-up after tries short grants or timeouts in succession, unless there was one lately. If
// all members are slow, querying all slows them further. most bounds the pause between the first look-ups.
func (m *Machine) lookUpAfter(now Now, tries int, most time.Duration) {
	every := min(m.Window()/8, most)
	if tries >= manyTries {
		every *= 4
	}
	m.lookUp(now.Mono - every)
}

// tryNewOwners schedules an early renewal for handles that failed at an owner that has been
// replaced. Their pause was for that owner; if owners change one after the other, as in a rolling
// restart, growing pauses would outlast the grants. All holders of a lost owner's partitions learn
// the new owner at about the same time, so they spread.
func (m *Machine) tryNewOwners(now Now) {
	for _, h := range m.handles {
		if owner := m.Owner(h.name); h.failures+h.shorts > 0 && owner != "" && owner != h.failedAt {
			h.failures, h.shorts = 0, 0
			h.next = min(h.next, now.Mono+m.cfg.Rand(RetryAfter))
		}
	}
}
