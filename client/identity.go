package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/registrar"
	"github.com/snowgrid/snowgrid/internal/registration"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/session"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// process is the process's identity, with the open data directory that it comes from.
type process struct {
	registrar.Process
	dir   *registrar.Dir     // nil if another owner closes it
	files registration.Files // the number's files, as they were read
}

// openProcess opens the configured data directory, if there is one.
func openProcess(cfg Config) (*process, error) {
	if cfg.parts.Process != nil {
		return &process{Process: *cfg.parts.Process}, nil
	}
	if cfg.DataDir == "" && (cfg.Set != "" || cfg.Cluster != "") {
		return nil, failure.Errorf(sequencer.ErrInvalidConfig,
			"client: Set %.80q and Cluster %.80q need a DataDir, which keeps the number", cfg.Set, cfg.Cluster)
	}
	if cfg.Set == "" && cfg.Cluster != "" {
		return nil, failure.Errorf(sequencer.ErrInvalidConfig,
			"client: Cluster is %.80q without a Set; give the name of a set", cfg.Cluster)
	}
	if len(cfg.Set) > roster.MaxSetName || len(cfg.Cluster) > roster.MaxSetName {
		return nil, failure.Errorf(sequencer.ErrInvalidConfig, "client: Set %.80q or Cluster %.80q is longer than %d bytes",
			cfg.Set, cfg.Cluster, roster.MaxSetName)
	}
	if cfg.DataDir == "" {
		return &process{}, nil
	}
	dir, err := registrar.OpenDir(cfg.DataDir)
	if err != nil {
		return nil, failure.Errorf(err, "client: %w", err)
	}
	p := &process{dir: dir}
	if p.files, err = dir.Read(); err == nil {
		err = p.otherSet(cfg)
	}
	if err == nil {
		p.Nodes, err = registrar.OpenNodes(cfg.DataDir, cfg.Logger)
	}
	if err != nil {
		p.close()
		return nil, failure.Errorf(err, "client: %w", err)
	}
	return p, nil
}

// otherSet rejects files from another cluster or set than the configured one, before any call to a
// member. Without a set, the directory's number is ignored.
func (p *process) otherSet(cfg Config) error {
	if cfg.Set == "" {
		return nil
	}
	set := p.files.Set(registration.Set{Cluster: cfg.Cluster, Name: cfg.Set}, "")
	if _, err := registration.New(registration.Config{Set: set}, p.files); err != nil {
		return failure.Errorf(sequencer.ErrInvalidConfig, "DataDir %s: %w", cfg.DataDir, err)
	}
	return nil
}

// register obtains the client's number, and returns when it is registered.
func (c *Client) register(ctx context.Context, cfg Config) error {
	if cfg.Set == "" || c.process.Number != nil {
		return nil
	}
	set := c.process.files.Set(registration.Set{Cluster: cfg.Cluster, Name: cfg.Set}, c.directory.Load().Name)
	if set.Cluster == "" {
		return failure.Errorf(sequencer.ErrInvalidConfig,
			"client: the grid's reply has no name; upgrade its members, or set Cluster")
	}
	host, _ := os.Hostname() // shown to operators; "" if there is none
	var err error
	c.process.Number, err = registrar.New(registrar.Config{
		Set: set, Files: c.process.files, Store: c.process.dir, Call: c.callAny, Addr: host, Log: c.log,
	})
	if err != nil {
		return failure.Errorf(err, "client: %w", err)
	}
	c.tasks.Go(c.process.Number.Run)
	if err := c.process.Number.Await(ctx, false); err != nil {
		return failure.Errorf(err, "client: %w", err)
	}
	return nil
}

// watchFence ends every handle when a later process registers with the same number.
func (c *Client) watchFence(ctx context.Context) {
	select {
	case <-c.process.Number.Fenced():
		c.session.fence(c.process.Number.NotRegistered())
	case <-ctx.Done():
	}
}

// fence ends every handle with a cause, and releases the logical nodes: the later process may get
// them.
func (r *runner) fence(cause error) {
	r.do(func(m *session.Machine, now session.Now) {
		for _, e := range r.c.handles.All() {
			r.c.handles.Drop(e.Control)
			r.c.memory.gone(e.Control, false)
			if rel, held := e.Control.Fence(cause); held {
				m.Return(now, e.Control.Ref(), rel)
			}
			if e.State != nil {
				m.Remove(e.State)
			}
		}
	})
}

// Number returns the process's number in its set, from 1 on, and 0 for a client without Set.
func (c *Client) Number() uint64 {
	if c.process.Number == nil {
		return 0
	}
	return c.process.Number.Status().ID
}

// Registration is the progress of a process's registration.
type Registration struct {
	Cluster     string
	Set         string
	State       string // INITIAL, TEMP_DONE, META_DONE or REGISTERED
	Number      uint64 // 0 before META_DONE
	Incarnation uint64 // this process's incarnation, 0 before REGISTERED
	Err         error  // error of the last step, or nil; sequencer.ErrFenced at the end
}

// Registration returns the state of the client's number, and false for a client without Set.
func (c *Client) Registration() (Registration, bool) {
	if c.process.Number == nil {
		return Registration{}, false
	}
	s := c.process.Number.Status()
	r := Registration{Cluster: s.Cluster, Set: s.Set, State: s.State.String(), Number: s.ID, Incarnation: s.Incarnation,
		Err: s.Err}
	if s.Fenced {
		r.Err = registrar.FencedError(s.Err)
	}
	return r, true
}

// identity returns the identity for a request to an owner, nil if the process has no number.
//
// Errors: sequencer.ErrFenced, and sequencer.ErrUnavailable while it is not registered.
func (c *Client) identity() (*wire.Identity, error) {
	if c.process.Number == nil {
		return nil, nil
	}
	id, err := c.process.Number.Identity()
	if err != nil {
		return nil, failure.Errorf(err, "client: %w", err)
	}
	return &id, nil
}

// fenced returns sequencer.ErrFenced if a later process has registered with the number.
func (c *Client) fenced() error {
	if _, err := c.identity(); errors.Is(err, sequencer.ErrFenced) {
		return err
	}
	return nil
}

// identified handles the result of a request that carried an identity.
func (c *Client) identified(id *wire.Identity, err error) error {
	if id == nil || err == nil {
		return err
	}
	c.process.Number.Refused(*id, err)
	if errors.Is(err, roster.ErrFenced) {
		return registrar.FencedError(err)
	}
	return err
}

// anyTries is the number of members that one step tries.
const anyTries = 3

// callAny sends a request to random members in the directory, or to the configured addresses
// without one, until one answers.
func (c *Client) callAny(ctx context.Context, path string, in, out any) error {
	addrs := c.addrs
	if members := c.Members(); len(members) > 0 {
		addrs = nil
		for _, member := range members {
			addrs = append(addrs, member.API)
		}
	}
	order := rand.Perm(len(addrs))
	err := failure.Errorf(sequencer.ErrUnavailable, "no member is known")
	for _, i := range order[:min(anyTries, len(order))] {
		addr := addrs[i]
		err = c.tryCall(ctx, addr, path, in, out)
		if err == nil || ctx.Err() != nil || !passingOn(err) {
			return err
		}
	}
	return err
}

// passingOn reports whether another member may answer a request that failed at one.
func passingOn(err error) bool {
	return errors.Is(err, sequencer.ErrUnavailable) || errors.Is(err, wire.ErrUnknownPath) ||
		errors.Is(err, wire.ErrWrongMethod)
}

// close unlocks the data directory if this client opened it.
func (p *process) close() {
	if p.dir == nil {
		return
	}
	if p.Nodes != nil {
		p.Nodes.Close()
	}
	_ = p.dir.Close()
}
