package grid

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/audit"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/bounded"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/leader/anchor"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// AnchorKey returns the key of a grid's record in its anchor store. The body is JSON:
// {"format":1,"claim","ceiling_ms","grid","holder","nonce"}.
func AnchorKey(grid string) string { return "snowgrid-anchor/" + url.PathEscape(grid) + ".json" }

// anchorage reads and swaps the record of the grid's anchor.
type anchorage struct {
	store store.Store // nil without an anchor
	key   string
	ahead time.Duration // 0: the default
	stuck bounded.Calls

	mu     sync.Mutex // guards what follows
	status leader.AnchorStatus
	known  bool          // there is a status, of this member's present lead
	since  time.Duration // of the state, by the monotonic clock
	logged bool          // the state
}

// anchorWaits is the time after which the log warns that the anchor is not held. Each start waits for it for
// milliseconds.
const anchorWaits = time.Second

// configured reports whether the member has an anchor store.
func (a *anchorage) configured() bool { return a.store != nil }

// check refuses a store that may lose acknowledged writes: an older record would let two
// grids grant the same IDs.
func (a *anchorage) check(ctx context.Context) error {
	lossy, ok := a.store.(store.Generations)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, anchor.Timeout)
	defer cancel()
	type server struct {
		id    string
		loses bool
	}
	now, err := bounded.Do(ctx, &a.stuck, "anchor "+a.key, func(ctx context.Context) (s server, err error) {
		s.id, s.loses, err = lossy.Generation(ctx)
		return s, err
	})
	switch {
	case err != nil:
		return failure.Errorf(sequencer.ErrUnavailable,
			"grid: "+"Anchor: cannot determine whether the store may lose writes: %w", err)
	case now.loses:
		return refusal.Invalid(
			"Anchor: the store (%.80q) may lose acknowledged writes in a failover, and the grid's record must not be lost; "+
				"give a store that waits for its replicas, or an object store, or etcd", now.id)
	}
	return nil
}

// do carries out one step on the record.
func (a *anchorage) do(ctx context.Context, s anchor.Step) anchor.Outcome {
	ctx, cancel := context.WithTimeout(ctx, anchor.Timeout)
	defer cancel()
	if s.Read {
		seen, err := a.load(ctx)
		return anchor.Outcome{Seen: seen, Err: err}
	}
	body, err := s.Swap.Record.Encode()
	if err != nil {
		return anchor.Outcome{Err: err}
	}
	revision, err := bounded.Do(ctx, &a.stuck, "anchor "+a.key, func(ctx context.Context) (store.Revision, error) {
		return a.store.Swap(ctx, store.Entry{Key: a.key, Body: body, Revision: store.Revision(s.Swap.Revision)})
	})
	if errors.Is(err, store.ErrChanged) {
		err = fmt.Errorf("%w: %w", anchor.ErrRefused, err)
	}
	return anchor.Outcome{Seen: anchor.Seen{Revision: string(revision)}, Err: err}
}

func (a *anchorage) load(ctx context.Context) (anchor.Seen, error) {
	e, err := bounded.Do(ctx, &a.stuck, "anchor "+a.key, func(ctx context.Context) (store.Entry, error) {
		return a.store.Load(ctx, a.key)
	})
	if errors.Is(err, store.ErrNoRecord) {
		return anchor.Seen{}, nil
	}
	if err != nil {
		return anchor.Seen{}, err
	}
	record, err := anchor.Decode(e.Body)
	return anchor.Seen{Record: record, Revision: string(e.Revision)}, err
}

// drawAnchor returns random values for a swap.
func drawAnchor() anchor.Draw {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return anchor.Draw{Claim: roster.Claim(hex.EncodeToString(b[:16])), Nonce: hex.EncodeToString(b[16:])}
}

// note records the leader's anchor status at a time, and returns the previous one. due reports whether the status is to
// be logged: once for each state, after anchorWaits for the states in which the grid waits.
func (a *anchorage) note(s leader.AnchorStatus, now time.Duration) (before leader.AnchorStatus, known, due bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before, known = a.status, a.known
	a.status, a.known = s, true
	if !known || before.State != s.State || (before.Err == nil) != (s.Err == nil) {
		a.since, a.logged = now, false
	}
	due = !a.logged && (s.Err != nil || !waits(s.State) || now-a.since >= anchorWaits)
	a.logged = a.logged || due
	return before, known, due
}

// waits reports whether the grid does not hold its anchor, and no other grid has taken it.
func waits(s anchor.State) bool {
	return s == anchor.Waiting || s == anchor.Missing || s == leader.Unanchored
}

// forget records that this member is no longer the leader.
func (a *anchorage) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status, a.known = leader.AnchorStatus{}, false
}

// now returns how the leader stands to the record, false if this member does not lead.
func (a *anchorage) now() (leader.AnchorStatus, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.status, a.known
}

func (l *lead) Anchor(s anchor.Step) {
	l.calls.Go(func() {
		out := l.of.anchorage.do(l.ctx, s)
		l.do(func(machine *leader.Leader, v leader.View) {
			machine.Anchored(v, s, out)
			l.noteAnchor(machine, v)
		})
	})
}

// noteAnchor keeps how the leader stands to the record, and logs changes.
func (l *lead) noteAnchor(machine *leader.Leader, v leader.View) {
	s, anchored := machine.AnchorStatus(v)
	if !anchored {
		return
	}
	before, known, due := l.of.anchorage.note(s, l.of.clock.Mono())
	if !due {
		return
	}
	log := l.of.log.With("state", string(s.State), "record_grid", s.Record.Grid.String(), "record_holder",
		string(s.Record.Holder),
		"record_ceiling", s.Record.Ceiling.Time(), "ceiling", v.Roster.Ceiling.Time())
	switch {
	case s.Err != nil:
		log.Error("anchor unreachable or unreadable; grants end at the ceiling", "error", s.Err, "left",
			leftOf(v.Roster, l.of.clock.Now()).String())
	case s.State == anchor.Lost:
		log.Error("anchor_taken: another grid has taken the anchor; this grid stops granting", "advice",
			anchorAdvice(s.State))
	case waits(s.State):
		log.Warn("anchor not held", "advice", anchorAdvice(s.State))
	case known && before.State != s.State || !known:
		log.Info("anchor seen", "limit", s.Limit.Time())
	default:
		log.Info("anchor reached again", "limit", s.Limit.Time())
	}
}

// anchorAdvice explains a state of the record, with its remedy; "" for none.
func anchorAdvice(s anchor.State) string {
	switch s {
	case anchor.Lost:
		return "another grid with this name has taken the anchor: this grid's holders wait when their grants end. Stop one " +
			"of the two; " +
			"this grid takes the anchor back when the other has not extended it for 1.5 times AnchorAhead " +
			"(--anchor-ahead), or after `snowgrid take-anchor`"
	case anchor.Waiting:
		return "an earlier run of this grid may still hold the anchor: this run takes it when the anchor's limit has " +
			"passed, or when it was not extended for 1.5 times AnchorAhead (--anchor-ahead)"
	case anchor.Missing:
		return "the anchor's record was deleted: restore it, or, if no other grid with this name has run since, run " +
			"`snowgrid take-anchor`"
	case anchor.Damaged:
		return "the anchor's record cannot be read: restore it, or delete it and run `snowgrid take-anchor` if no other " +
			"grid with this name has run since"
	case leader.Unanchored:
		return "the grid has an anchor, but its leader's configuration has none: start every member with Anchor " +
			"(--anchor)"
	case anchor.Unread:
		return "the anchor's store does not answer: correct the error; holders wait when their grants end, as " +
			"without a majority"
	}
	return ""
}

// serveTake takes the record of the anchor on a person's request, or has the leader do it. It is
// safe with any present holder: grants of this grid begin above the limit that is found (A7).
func (o *leadership) serveTake(ctx context.Context, in wire.TakeRequest) (wire.MemberResponse, error) {
	return serveOperator(ctx, o, wire.PathTake, &in, func() (wire.MemberResponse, error) {
		err := o.atLead(ctx, func(machine *leader.Leader, v leader.View, reply func(error)) { machine.TakeAnchor(v, reply) })
		o.audit.Write(audit.Entry{Action: audit.TakeAnchor, Name: o.state.Roster().Settings.Name, Who: in.AskedBy, Err: err})
		if err == nil {
			o.log.Warn("anchor taken by operator", "asked_by", fmt.Sprintf("%.100s", in.AskedBy), "call_from",
				api.RemoteOf(ctx))
		}
		return o.versionUnless(err)
	})
}
