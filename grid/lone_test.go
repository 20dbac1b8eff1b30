package grid

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/formation"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// shifted shows the bubble's time, moved to the years that are believed.
type shifted struct{}

func (shifted) Now() time.Time { return time.Now().AddDate(27, 0, 0) }

// startAlone starts a member that no other one can join. It has to be used in a bubble.
func startAlone(t *testing.T) *Member {
	m, err := Start(t.Context(), Config{Clock: shifted{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	time.Sleep(5 * time.Second)
	return m
}

// TestStopEndsGrants: the last member notes where grants ended, and grants nothing
// from then on (S1).
func TestStopEndsGrants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startAlone(t)
		m.cfg.DataDir = "data" // as if the log were on disk
		s, err := m.CreateSequencer(t.Context(), "orders", sequencer.Config{})
		if err == nil {
			err = s.DetachLogicalNode(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		m.departure.stopInOrder(t.Context())
		_, err = m.host.Create(t.Context(), wire.CreateRequest{Name: "invoices", Epoch: new(int64(m.clock.Now())),
			Nodes: 128})
		if !errors.Is(err, sequencer.ErrClosed) {
			t.Errorf("create after the stop: %v", err)
		}
	})
}

// TestNoEndWhileAttached: the end of the grants is unknown in a partition with an
// attachment, since its holder continues to use its grants (S1).
func TestNoEndWhileAttached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startAlone(t)
		s, err := m.CreateSequencer(t.Context(), "orders", sequencer.Config{})
		if err != nil {
			t.Fatal(err)
		}
		id := roster.PartitionOf("orders", len(m.state.Roster().Partitions))
		m.state.Ended.Store(true)
		if high, err := m.host.Granted(t.Context(), id); err == nil {
			t.Errorf("grants ended at %d with a logical node attached", high)
		}
		m.state.Ended.Store(false)
		if err := s.DetachLogicalNode(t.Context()); err != nil {
			t.Fatal(err)
		}
		if high, err := m.host.Granted(t.Context(), id); err == nil {
			t.Errorf("grants ended at %d while the partition is served", high)
		}
		m.state.Ended.Store(true)
		if _, err := m.host.Granted(t.Context(), id); err != nil {
			t.Errorf("with nothing attached: %v", err)
		}
	})
}

// TestEarlierGrantIsNotServed: a holder that shows a grant of another grid beyond the floor
// gets none, by attach or by renewal, before all floors are above it (S2). No floor
// follows what no earlier life can have granted if the clocks are right.
func TestEarlierGrantIsNotServed(t *testing.T) {
	t.Parallel()
	ref := wire.Sequencer{Name: "orders", Epoch: 1, Nodes: 128, Life: attachment.Life{1}}
	for what, show := range map[string]func(m *Member, c wire.Claim) error{
		"attach": func(m *Member, c wire.Claim) error {
			_, err := m.host.Attach(m.ctx, wire.AttachRequest{Holder: "h", Claim: c})
			return err
		},
		"renewal": func(m *Member, c wire.Claim) error {
			res, err := m.host.Renew(m.ctx, wire.RenewRequest{Holder: "h", Claims: []wire.Claim{c}})
			if err != nil {
				return err
			}
			return res.Results[0].Error.Unwire()
		},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := startAlone(t)
				c := wire.Claim{Sequencer: ref, ID: attachment.ID{1}, Node: new(sequencer.NodeID)}
				c.Grid = roster.GridID{9}
				before := m.state.Roster()
				c.Until = partition.EarlierBound(before, m.clock.Now()) + 1
				err := show(m, c)
				time.Sleep(time.Second)
				if now := m.state.Roster().Version; err != nil || now != before.Version {
					t.Errorf("a grant that is not believed: %v, and the roster changes from version %d to %d", err,
						before.Version, now)
				}
				c.ID = attachment.ID{7}
				c.Node = new(sequencer.NodeID(9))
				c.Until = partition.EarlierBound(before, m.clock.Now())
				if err := show(m, c); !errors.Is(err, sequencer.ErrUnavailable) {
					t.Errorf("a grant beyond the floor: %v", err)
				}
				time.Sleep(time.Second)
				for id, p := range m.state.Roster().Partitions {
					if p.Floor < c.Until || p.LostTerm != p.Term {
						t.Fatalf("partition %d has floor %d, want %d: %+v", id, p.Floor, c.Until, p)
					}
				}
				if err := show(m, c); err != nil {
					t.Errorf("a grant below the floor: %v", err)
				}
			})
		})
	}
}

// TestMembersCallsAreAddressed: only calls of holders are served without the name of this
// incarnation; calls between members need its grid as well, except those for forming a grid
// and those of operators (R9).
func TestMembersCallsAreAddressed(t *testing.T) {
	ofHolders := []string{
		wire.PathCreate, wire.PathOpen, wire.PathAttach, wire.PathRenew, wire.PathDetach,
		wire.PathDestroy, wire.PathDirectory, wire.PathStatus, wire.PathIDs, wire.PathGrants,
		wire.PathSequencers, wire.PathHolders, wire.PathSettings, wire.PathIdentity, wire.PathIdentityNext,
		wire.PathIdentityApply, wire.PathIdentityRegister, wire.PathIdentityClean, wire.PathIdentityDrop,
		wire.PathIdentityImport, wire.PathKeyring, wire.PathUnused,
	}
	forming := []string{wire.PathHello, wire.PathAccept, wire.PathInit, wire.PathAbandon, wire.PathForget, wire.PathRemove,
		wire.PathTake}
	m := newMember(Config{Expect: 2})
	defer m.life.Stop()
	const self, other = "aaaaaaaaaaaaaaaa-0000000000000001", "bbbbbbbbbbbbbbbb-0000000000000001"
	m.self = self
	m.raft = m.newServer()
	m.formation = m.newFormation(&formation.Identity{Grid: roster.GridID{1}})
	m.host = newHost(m)
	m.membership = &membershipAPI{deps: &m.deps}
	api := m.newAPI()
	served := api.Handler()
	for _, path := range api.Paths() {
		for _, h := range []struct{ target, grid string }{
			{}, {other, m.formation.Grid().String()}, {self, roster.GridID{2}.String()}, {self, ""},
		} {
			if slices.Contains(ofHolders, path) || slices.Contains(forming, path) && h.target == self {
				continue
			}
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader("no body of any call"))
			req.Header.Set("Content-Type", wire.JSON)
			req.Header.Set(wire.HeaderTarget, h.target)
			req.Header.Set(wire.HeaderGrid, h.grid)
			res := httptest.NewRecorder()
			served.ServeHTTP(res, req)
			if res.Code != http.StatusMisdirectedRequest {
				t.Errorf("%s for %q of grid %q: %d %s", path, h.target, h.grid, res.Code, res.Body)
			}
		}
	}
}
