package grid

import (
	"context"
	"github.com/snowgrid/snowgrid/grid/internal/formation"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/registrar"
	"github.com/snowgrid/snowgrid/internal/registration"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/session"
)

// IdentityInfo is the number of the member that answers a status request.
type IdentityInfo struct {
	Cluster string `json:"cluster"`
	Set     string `json:"set"`
	// State is INITIAL, TEMP_DONE, META_DONE or REGISTERED. Only a REGISTERED member
	// attaches logical nodes for its own process.
	State       string `json:"state"`
	ID          uint64 `json:"id,omitempty"`          // the number, 0 before META_DONE
	Incarnation uint64 `json:"incarnation,omitempty"` // this start's incarnation
	Error       string `json:"error,omitempty"`       // error of the last step
}

// check refuses an identity that cannot be kept.
func (i Identity) check(dataDir string) error {
	switch {
	case i.Set == "" && i.Cluster != "":
		return refusal.Invalid("Identity has the cluster %.80q and no set; give the name of a set", i.Cluster)
	case i.Set != "" && dataDir == "":
		return refusal.Invalid("Identity names the set %.80q, and a number needs a DataDir to be kept in; set one", i.Set)
	case len(i.Set) > roster.MaxSetName || len(i.Cluster) > roster.MaxSetName:
		return refusal.Invalid("Identity: set %.80q or cluster %.80q is longer than %d bytes", i.Set, i.Cluster,
			roster.MaxSetName)
	}
	return nil
}

func (i Identity) set() registration.Set { return registration.Set{Cluster: i.Cluster, Name: i.Set} }

// identity is this member's number and its remembered logical nodes. The zero value belongs to a
// member without a set.
type identity struct {
	files  registration.Files
	number *registrar.Registrar // nil without a set, and before open
	nodes  *registrar.Nodes     // the same
}

// read reads the number's files in a data directory, and rejects files from another cluster or set,
// before anything is written there. The grid's name is the cluster if neither the configuration nor
// a file has one.
func (i *identity) read(cfg Identity, dir string) error {
	if cfg.Set == "" {
		return nil
	}
	files, err := formation.ReadNumber(dir)
	if err != nil {
		return err
	}
	i.files = files
	if _, err := registration.New(registration.Config{Set: i.files.Set(cfg.set(), "")}, files); err != nil {
		return refusal.Invalid("Identity: DataDir %s: %v", dir, err)
	}
	return nil
}

// open creates the registration for a member that should have a number.
func (i *identity) open(m *Member) (err error) {
	if m.cfg.Identity.Set == "" {
		return nil
	}
	// This member serves the calls, which it forwards to the leader.
	call := func(ctx context.Context, path string, in, out any) error {
		ctx, cancel := context.WithTimeout(ctx, session.CallTimeout)
		defer cancel()
		return m.api.Local(m.addrs.API, m.http).Call(ctx, m.addrs.API, path, in, out)
	}
	i.number, err = registrar.New(registrar.Config{
		Set: i.files.Set(m.cfg.Identity.set(), m.cfg.Name), Files: i.files, Store: m.formation.Numbers(), Call: call,
		Addr: m.addrs.API, Member: m.self.Member(), Log: m.log,
	})
	if err == nil {
		i.nodes, err = registrar.OpenNodes(m.cfg.DataDir, m.log)
	}
	if err != nil {
		return refusal.Invalid("Identity: %v", err)
	}
	return nil
}

// run registers the member when the grid is ready, and renews the registration.
func (i *identity) run(m *Member) {
	if i.number != nil {
		m.life.Go(func() { i.number.Run(m.ctx) })
	}
}

// await waits until the member is registered. Reasons that only an operator can change do not
// end it: the member is part of the grid, and serves the remedy.
func (i *identity) await(ctx context.Context) error {
	if i.number == nil {
		return nil
	}
	if err := i.number.Await(ctx, true); err != nil {
		return failure.Errorf(err, "grid: start: %w", err)
	}
	return nil
}

// shared returns the number and the memory for the member's own handles.
func (i *identity) shared() *registrar.Process {
	return &registrar.Process{Number: i.number, Nodes: i.nodes}
}

// counted returns the number alone, for handles that make IDs for callers of the API.
func (i *identity) counted() *registrar.Process { return &registrar.Process{Number: i.number} }

// info returns the number for the status, nil in a member without a set.
func (i *identity) info() *IdentityInfo {
	if i.number == nil {
		return nil
	}
	s := i.number.Status()
	out := &IdentityInfo{Cluster: s.Cluster, Set: s.Set, State: s.State.String(), ID: s.ID, Incarnation: s.Incarnation}
	if s.Err != nil {
		out.Error = refusal.Unprefixed(s.Err)
	}
	return out
}

// notRegistered returns nil unless the member is to have a number and is not registered.
func (i *identity) notRegistered() error {
	if i.number == nil {
		return nil
	}
	return i.number.NotRegistered()
}

// close closes the logical nodes' file.
func (i *identity) close() {
	if i.nodes != nil {
		i.nodes.Close()
	}
}

// Number returns the number that this member has in its set, from 1 on, and 0 without
// Config.Identity.
func (m *Member) Number() uint64 {
	if m.identity.number == nil {
		return 0
	}
	return m.identity.number.Status().ID
}
