package grid

import (
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/clustertime"

	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/spelling"
)

// standing is a member's view of its place in the grid at one moment. Two answers
// follow from it alone: whether the member is ready, and
// whether the grid is settled.
type standing struct {
	roster *roster.Roster
	self   roster.Incarnation
	// raised is the time since this member applied the last ceiling raise; negative before the
	// first. Only a majority of the voters can agree on one.
	raised time.Duration
	// wasReady means that the member was ready before in this grid. From then on a crash of another
	// member does not take it out of service.
	wasReady bool
	// wasSettled means the same for everything but the time at which IDs begin: that comes without
	// a change of the roster, and a crash of another member may come before the next one.
	wasSettled bool
	// left is for how long holders have grants.
	left time.Duration
	// now is the cluster time, 0 = unknown.
	now clustertime.Tick
	// leaderless means that this member has no leader, and stranded that it does not see enough
	// voters to elect one either.
	leaderless, stranded bool
	// because adds this member's cause to the reason that the quorum is lost; nil adds nothing.
	because func(error) error
}

// notReady returns the reason why the member should get no traffic, or nil.
func (s standing) notReady() error { return firstUnmet(s.conditions()) }

// conditions returns the readiness conditions of a serving member.
func (s standing) conditions() []condition {
	return []condition{
		{"agreement", s.notInTouch},
		{"replicas", func() error {
			return unless(s.roster.Settled(s.self), "this member's replicas are not in sync yet")
		}},
		{"grid-settled-at-start", func() error {
			if s.wasReady || s.wasSettled {
				return nil
			}
			return s.notSettled()
		}},
		{"ids-begin", s.notBegun},
	}
}

// notBegun returns an error with the time at which IDs begin and the reason for the wait, nil if one
// can be issued now.
func (s standing) notBegun() error {
	if b := s.firstID(); b.at > 0 {
		return errors.New(b.text(s.now))
	}
	return nil
}

// notSettled returns the reason why an orderly stop of one more member might lose something, or
// nil: each partition has its configured number of copies in sync, or as many as there are other
// members. A copy at a suspect member, or at a member that has just joined, counts as missing.
func (s standing) notSettled() error {
	if err := s.notInTouch(); err != nil {
		return err
	}
	if s.leaderless {
		return errors.New("the grid has no leader at the moment, and only a leader lists the copies in sync")
	}
	want := min(s.roster.Settings.Backups, len(s.roster.Members)-1)
	short, least, first := 0, want, 0
	for id, p := range s.roster.Partitions {
		copies := s.copies(p)
		if copies >= want {
			continue
		}
		if short == 0 {
			first = id
		}
		short, least = short+1, min(least, copies)
	}
	if short > 0 {
		return fmt.Errorf(
			"%d of %d partitions have fewer than %s in sync, for example partition %d; the fewest is %d",
			short, len(s.roster.Partitions), spelling.Count(want, "backup"), first, max(0, least))
	}
	return nil
}

// copies counts a partition's replicas that can be relied on, without one for the
// owner: -1 if there is none.
func (s standing) copies(p roster.Partition) int {
	n := -1
	for _, i := range p.InSync {
		if !slices.Contains(s.roster.Unsettled, i) {
			n++
		}
	}
	return n
}

// notInTouch returns the reason why the member's view may be out of date, nil if it is in the
// roster and took part in an agreement within the last half window.
func (s standing) notInTouch() error {
	err := s.notAgreed()
	if s.because != nil && errors.Is(err, errQuorumLost) {
		return s.because(err)
	}
	return err
}

// notAgreed is notInTouch without the state of the member's certificate.
func (s standing) notAgreed() error {
	if _, in := s.roster.Member(s.self); !in {
		return fmt.Errorf("this member is not in the roster of grid %s", s.roster.Grid)
	}
	switch limit := s.halfWindow(); {
	case s.roster.Claim != "" && s.raised >= 0 && s.raised <= limit && s.left < limit:
		return fmt.Errorf("%w: grants end in %v, at the ceiling %s", errNotAnchored, s.left.Round(time.Millisecond),
			s.roster.Ceiling.TimeOrZero().Format(time.RFC3339Nano))
	case s.raised < 0:
		return fmt.Errorf("%w: the ceiling was not raised since this member started", errQuorumLost)
	case s.raised > limit:
		return fmt.Errorf("%w: the ceiling was not raised for %v; at most %v is expected",
			errQuorumLost, s.raised.Round(time.Millisecond), limit)
	case s.stranded:
		return fmt.Errorf("%w: this member has no leader, and fewer voters are alive than a majority", errQuorumLost)
	}
	return nil
}

// halfWindow is the time for which a raise counts: five are due in that time, and grants reach
// further than it.
func (s standing) halfWindow() time.Duration {
	return s.roster.Settings.Window.Duration() / 2
}

// errQuorumLost reports that this member takes no part in any agreement.
var errQuorumLost = errors.New("quorum lost")

// quorumLostPrefix begins the advice of a member that takes part in no agreement.
const quorumLostPrefix = "quorum lost: "

// errNotAnchored reports that the ceiling does not rise, since the anchor's limit does not.
var errNotAnchored = errors.New("the anchor holds the ceiling back")

func (h *health) standing() standing {
	r, now := h.state.Roster(), h.clock.Now()
	leaderless := h.leaderless()
	return standing{
		roster: r, self: h.self, raised: h.state.RaiseAge(), wasReady: h.wasReady.Load(), wasSettled: h.wasSettled.Load(),
		left: leftOf(r, now), now: now,
		leaderless: leaderless, stranded: leaderless && h.isStranded(), because: h.because,
	}
}

// because adds this member's cause to the reason that the quorum is lost or that it is in no roster: a disk that hangs,
// or a certificate that is not valid now.
func (h *health) because(lost error) error {
	if hang := h.raft.DiskHang(); hang != nil {
		return fmt.Errorf("%w; %w", lost, hang)
	}
	return h.creds.because(lost)
}

// notReady returns the reason why this member should get no traffic, or nil.
func (h *health) notReady() error {
	if err := cmp.Or(h.notStaying(), h.notServing()); err != nil {
		return err
	}
	if err := h.standing().notReady(); err != nil {
		return err
	}
	return h.notRegistered()
}

// notStaying returns an error once Leave was called: POST /v1/ids ends first, and the handover takes seconds.
func (h *health) notStaying() error { return unless(!h.leaving.Load(), "this member leaves the grid") }

// notSettled returns the reason why an orderly stop of one more member might lose something, or
// nil.
func (h *health) notSettled() error {
	if err := h.notServing(); err != nil {
		return err
	}
	if err := h.standing().notSettled(); err != nil {
		return err
	}
	return h.notTogether()
}

// noteReady remembers that the member was ready in this grid, or only IDs had not begun.
func (h *health) noteReady() {
	if !h.wasSettled.Load() && h.notServing() == nil {
		s := h.standing()
		s.now = 0 // the time at which IDs begin does not matter
		if s.notReady() == nil {
			h.wasSettled.Store(true)
		}
	}
	if !h.wasReady.Load() && h.notReady() == nil {
		h.wasReady.Store(true)
	}
}

// notServing returns the reason why the member does not serve yet, or nil: it is in the roster,
// every partition has an owner, and cluster time is known.
func (h *health) notServing() error { return firstUnmet(h.serving()) }

// serving returns the conditions for serving; each is meaningful only if the earlier ones are met.
func (h *health) serving() []condition {
	r := h.state.Roster()
	return []condition{
		{"process", func() error {
			if h.ctx.Err() != nil {
				return refusal.ErrClosed
			}
			return nil
		}},
		{"disk-and-log", h.raft.Failure},
		{"grid-formed", func() error {
			switch {
			case r.Formed():
				return nil
			case h.warning() != "": // it has the certificate
				return h.formation.NotFormed()
			}
			return h.creds.because(h.formation.NotFormed())
		}},
		{"identity", h.formation.Clash},
		{"member-of-grid", func() error {
			if _, in := r.Member(h.self); !in {
				return h.because(fmt.Errorf("this member is not in the roster of grid %s yet%s", r.Grid, h.anchorWait()))
			}
			return h.formation.LeftBehind()
		}},
		{"partitions-owned", func() error {
			return unless(r.Assigned(), "the partitions of grid %s have no owners yet: %s joined, and %d are expected",
				r.Grid, spelling.Count(len(r.Members), "member"), h.formation.Expect())
		}},
		{"cluster-time", func() error { return unless(h.clock.Now() != 0, "cluster time is not established yet") }},
	}
}
