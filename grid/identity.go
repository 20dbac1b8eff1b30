package grid

import (
	"context"

	"github.com/snowgrid/snowgrid/grid/internal/formation"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/identity"
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

func (i Identity) set() identity.Set { return identity.Set{Cluster: i.Cluster, Name: i.Set} }

// numbering is this member's number and its remembered logical nodes. The zero value belongs to a
// member without a set.
type numbering struct {
	files identity.Files
	identity.Process
}

// read reads the number's files in a data directory, and rejects files from another cluster or set,
// before anything is written there. The grid's name is the cluster if neither the configuration nor
// a file has one.
func (n *numbering) read(cfg Identity, dir string) (err error) {
	if cfg.Set == "" {
		return nil
	}
	if n.files, err = formation.ReadNumber(dir); err != nil {
		return err
	}
	if _, err := n.files.Set(cfg.set(), ""); err != nil {
		return refusal.Invalid("Identity: DataDir %s: %v", dir, err)
	}
	return nil
}

// open creates the registration for a member that should have a number.
func (n *numbering) open(m *Member) error {
	if m.cfg.Identity.Set == "" {
		return nil
	}
	set, err := n.files.Set(m.cfg.Identity.set(), m.cfg.Name)
	if err == nil {
		n.Nodes, err = identity.OpenNodes(m.cfg.DataDir, m.log)
	}
	if err != nil {
		return refusal.Invalid("Identity: %v", err)
	}
	// This member serves the calls, which it forwards to the leader.
	call := func(ctx context.Context, path string, in, out any) error {
		ctx, cancel := context.WithTimeout(ctx, session.CallTimeout)
		defer cancel()
		return m.api.Local(m.addrs.API, m.http).Call(ctx, m.addrs.API, path, in, out)
	}
	n.Number = identity.New(identity.Config{
		Set: set, Files: n.files, Store: m.formation.Numbers(), Call: call, Addr: m.addrs.API, Member: m.self.Member(),
		Log: m.log,
	})
	return nil
}

// await waits until the member is registered. Reasons that only an operator can change do not
// end it: the member is part of the grid, and serves the remedy.
func (n *numbering) await(ctx context.Context) error {
	if err := n.Number.Await(ctx, true); err != nil {
		return failure.Errorf(err, "grid: start: %w", err)
	}
	return nil
}

// notRegistered returns nil unless the member is to have a number and is not registered.
func (n *numbering) notRegistered() error {
	_, err := n.Number.Identity()
	return err
}

// info returns the number for the status, nil in a member without a set.
func (n *numbering) info() *IdentityInfo {
	if n.Number == nil {
		return nil
	}
	s := n.Number.Status()
	out := &IdentityInfo{Cluster: s.Cluster, Set: s.Set, State: s.State, ID: s.Number, Incarnation: s.Incarnation}
	if s.Err != nil {
		out.Error = refusal.Unprefixed(s.Err)
	}
	return out
}

// Number returns the number that this member has in its set, from 1 on, and 0 without
// Config.Identity.
func (m *Member) Number() uint64 { return m.identity.Number.ID() }
