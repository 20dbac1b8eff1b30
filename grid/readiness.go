package grid

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/roster"
)

// standing is a member's view of its place in the grid at one moment. Two answers
// follow from it alone: whether the member is ready, and
// whether the grid is settled.
type standing struct {
	roster *roster.Roster
	self   roster.Incarnation
	// raised is how long ago the last raise of the ceiling was applied here;
	// negative before the first. Only a majority of the voters can agree on one.
	raised time.Duration
	// wasReady says that the member was ready before in this grid. From then on a
	// crash of another member does not take it out of service.
	wasReady bool
}

// notReady says why the member should get no traffic, nil if it should.
func (s standing) notReady() error {
	if err := s.notInTouch(); err != nil {
		return err
	}
	if !s.roster.Settled(s.self) {
		return errors.New("this member's replicas are not in sync yet")
	}
	if s.wasReady {
		return nil
	}
	return s.notSettled()
}

// notSettled says why an orderly stop of one more member might lose something, nil
// if it loses nothing: each partition has as many copies in sync as it is to have,
// or as there are other members. A copy at a member that is in doubt, or that has
// just joined, counts as missing.
func (s standing) notSettled() error {
	if err := s.notInTouch(); err != nil {
		return err
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
		return fmt.Errorf("%d of %d partitions have fewer copies in sync besides the owner's than %d, partition %d for one; the fewest is %d",
			short, len(s.roster.Partitions), want, first, max(0, least))
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
	if _, in := s.roster.Member(s.self); !in {
		return fmt.Errorf("this member is not in the roster of grid %s", s.roster.Grid)
	}
	switch limit := s.halfWindow(); {
	case s.raised < 0:
		return fmt.Errorf("%w: the ceiling was not raised since this member started", errQuorumLost)
	case s.raised > limit:
		return fmt.Errorf("%w: this member has seen no raise of the ceiling for %v, at most %v is expected",
			errQuorumLost, s.raised.Round(time.Millisecond), limit)
	}
	return nil
}

// halfWindow is how long a raise counts: five are due in that time, and grants
// reach further than it.
func (s standing) halfWindow() time.Duration {
	return s.roster.Settings.Window.Duration() / 2
}

// errQuorumLost says that this member does not take part in any agreement.
var errQuorumLost = errors.New("quorum lost")

// standing returns the member's standing now.
func (m *Member) standing() standing {
	return standing{roster: m.state.Roster(), self: m.self, raised: m.state.RaiseAge(), wasReady: m.wasReady.Load()}
}

// notReady says why this member should get no traffic, nil if it should.
func (m *Member) notReady() error {
	if err := m.notServing(); err != nil {
		return err
	}
	return m.standing().notReady()
}

// notSettled says why an orderly stop of one more member might lose something, nil
// if it loses nothing.
func (m *Member) notSettled() error {
	if err := m.notServing(); err != nil {
		return err
	}
	return m.standing().notSettled()
}

// noteReady remembers that the member was ready in this grid.
func (m *Member) noteReady() {
	if !m.wasReady.Load() && m.notReady() == nil {
		m.wasReady.Store(true)
	}
}

// Ready reports whether the member should get traffic: it is in the roster, it has
// seen a raise of the ceiling within the last half window, and it has its own
// replicas in sync. Until it was ready for the first time the grid has to be settled
// as well, so a rolling restart that waits for the restarted member does not stop
// the next one too early. A crash of another member does not change the answer. The
// reason is in [Status]; GET /readyz tells the same.
func (m *Member) Ready() bool { return m.notReady() == nil }

// Settled reports whether an orderly stop of one more member loses nothing: each
// partition has Backups copies in sync besides the owner's, or as many as there are
// other members. A copy at a member that does not answer counts as missing as soon
// as the leader doubts that member, within about two seconds. The reason is in
// [Status]; GET /v1/settled tells the same.
func (m *Member) Settled() bool { return m.notSettled() == nil }
