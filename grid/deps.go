package grid

import (
	"context"
	"log/slog"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/audit"
	"github.com/snowgrid/snowgrid/grid/internal/formation"
	"github.com/snowgrid/snowgrid/grid/internal/gossip"
	"github.com/snowgrid/snowgrid/grid/internal/host"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/grid/internal/tenure"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// deps are a member's parts that its other parts use. They are set before anything runs.
type deps struct {
	cfg       Config
	lone      bool
	self      roster.Incarnation
	addrs     Addrs
	log       *slog.Logger
	audit     *audit.Log
	creds     *credentials
	files     *descriptors   // notes that none was left
	clock     *handles.Clock // of the state, sampled by the log alone; answers carry its time
	state     *state.State
	life      *tenure.Life
	ctx       context.Context // ends with the life
	raft      *raftlog.Server
	caller    api.Caller
	host      *host.Host     // for the partitions
	gossip    *gossip.Gossip // nil in a lone member
	formation *formation.Formation
	anchorage *anchorage
}

// durable reports whether the member has a data directory.
func (d *deps) durable() bool { return d.cfg.DataDir != "" }

// record returns the roster's record of this member.
func (d *deps) record() roster.Member {
	return roster.Member{
		Incarnation: d.self, API: d.addrs.API, Raft: d.addrs.Raft, Gossip: d.addrs.Gossip, Durable: d.durable(),
		Zone: d.cfg.Zone,
	}
}

// nameOf returns a member's name for people, "" if unknown.
func (d *deps) nameOf(inc roster.Incarnation) string {
	if inc == d.self {
		return d.cfg.MemberName
	}
	return d.gossip.Name(inc)
}
