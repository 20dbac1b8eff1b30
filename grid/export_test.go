package grid

import (
	"errors"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/formation"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
)

// Names for the tests in package grid_test, which use gridtest, which imports grid.
const (
	CallsMax = wire.MaxCalls
)

// Fill makes the member have all the requests of holders that it may have.
func (m *Member) Fill() (empty func()) { return m.api.Fill() }

// TableOf returns a member's copy of a name's partition, and whether it acts on it.
func (m *Member) TableOf(name string) (table partition.TableState, acts bool) {
	table, acts, _ = m.host.TableOf(m.ctx, name)
	return table, acts
}

// Announce sends the member's description of itself.
func (m *Member) Announce() { m.gossip.Announce(m.ctx) }

// Peers returns whom gossip sees, and how many members of other grids it has met.
func (m *Member) Peers() (seen []roster.Incarnation, foreign int) {
	for _, p := range m.gossip.Peers() {
		seen = append(seen, p.Incarnation)
	}
	return seen, m.gossip.ForeignCount()
}

// Begin starts a member and does not wait until it serves.
func Begin(cfg Config) (*Member, error) {
	m := newMember(cfg)
	if err := m.cfg.check(); err != nil {
		return nil, err
	}
	var err error
	if m.creds, err = credentialsOf(&m.cfg); err != nil {
		return nil, err
	}
	if err := m.open(); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	m.run()
	return m, nil
}

// Accept asks a member to accept a bootstrap member with its own settings, or with others.
func (m *Member) Accept(by roster.MemberID, window time.Duration) error {
	settings := m.cfg.settings()
	if window > 0 {
		settings.Window = clustertime.SpanOf(window)
	}
	_, err := m.formation.Accept(m.ctx, wire.AcceptRequest{BootstrapMember: by, Grid: formation.NewGridID(),
		Settings: settings})
	return err
}

// FormUnconfirmed has a member form a grid that needs acceptances it does not get.
func (m *Member) FormUnconfirmed(need int) error {
	return m.formation.FormUnconfirmed(need)
}

// Stall has the owner of a name serve nothing until release.
func (m *Member) Stall(name string) (release func()) {
	release, err := m.host.Stall(name)
	if err != nil {
		panic(err)
	}
	return release
}

// Log has something agreed on, as a leader of a later version may. It returns when this
// member has seen it.
func (m *Member) Log(data []byte) error {
	return m.raft.Node().Raft.Apply(data, transport.RaftCallTimeout).Error()
}

// Need asks the leader, which the member has to be, for a protocol of the roster.
func (m *Member) Need(p roster.Protocol, part string) error {
	return m.leadership.need(m.ctx, p, part)
}

// IsLearner reports whether the member follows the leader by its pushes alone.
func (m *Member) IsLearner() bool { return m.raft.Node().Learns() }

// RosterOf returns the roster that a member has applied.
func RosterOf(m *Member) *roster.Roster { return m.state.Roster() }
