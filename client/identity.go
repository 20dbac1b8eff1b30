package client

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/identity"
	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/session"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// process is the process's identity, with the locked data directory that it comes from.
type process struct {
	identity.Process
	dir   identity.Dir
	lock  io.Closer      // nil if another owner closes the parts
	files identity.Files // as they were read
}

func (c Config) set() identity.Set { return identity.Set{Cluster: c.Cluster, Name: c.Set} }

// openProcess opens the configured data directory, if there is one.
func openProcess(cfg Config) (_ *process, err error) {
	if cfg.parts.Process != nil {
		return &process{Process: *cfg.parts.Process}, nil
	}
	if err := cfg.set().Check(cfg.DataDir); err != nil {
		return nil, failure.Errorf(sequencer.ErrInvalidConfig, "client: %w", err)
	}
	p := &process{}
	if cfg.DataDir == "" {
		return p, nil
	}
	if p.dir, p.lock, err = identity.OpenDir(cfg.DataDir); err != nil {
		return nil, failure.Errorf(err, "client: %w", err)
	}
	if p.files, err = p.dir.Read(); err == nil && cfg.Set != "" { // else the directory's number is ignored
		if _, err = p.files.Set(cfg.set(), ""); err != nil {
			err = failure.Errorf(sequencer.ErrInvalidConfig, "DataDir %s: %w", cfg.DataDir, err)
		}
	}
	if err == nil {
		p.Nodes, err = identity.OpenNodes(cfg.DataDir, cfg.Logger)
	}
	if err != nil {
		p.close()
		return nil, failure.Errorf(err, "client: %w", err)
	}
	return p, nil
}

// close unlocks the data directory if this client opened it.
func (p *process) close() {
	if p.lock != nil {
		p.Nodes.Close()
		_ = p.lock.Close()
	}
}

// register obtains the client's number, and returns when it is registered.
func (c *Client) register(ctx context.Context, cfg Config) error {
	if cfg.Set == "" || c.process.Number != nil {
		return nil
	}
	set, err := c.process.files.Set(cfg.set(), c.directory.Load().Name)
	if err == nil && set.Cluster == "" {
		err = errors.New("the grid's reply has no name; upgrade its members, or set Cluster (--cluster)")
	}
	if err != nil {
		return failure.Errorf(sequencer.ErrInvalidConfig, "client: %w", err)
	}
	host, _ := os.Hostname() // shown to operators; "" if there is none
	c.process.Number = identity.New(identity.Config{
		Set: set, Files: c.process.files, Store: c.process.dir, Call: c.callAny, Addr: host, Log: c.log,
	})
	c.tasks.Go(c.process.Number.Run)
	if err := c.process.Number.Await(ctx, false); err != nil {
		return failure.Errorf(err, "client: %w", err)
	}
	return nil
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
func (c *Client) Number() uint64 { return c.process.Number.ID() }

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
	return Registration(c.process.Number.Status()), true
}

// identity returns the identity for a request to an owner, nil if the process has no number.
//
// Errors: sequencer.ErrFenced, and sequencer.ErrUnavailable while it is not registered.
func (c *Client) identity() (*wire.Identity, error) {
	id, err := c.process.Number.Identity()
	if err != nil {
		return nil, failure.Errorf(err, "client: %w", err)
	}
	return id, nil
}

// identified handles the result of a request that carried an identity.
func (c *Client) identified(id *wire.Identity, err error) error {
	if id == nil || err == nil {
		return err
	}
	c.process.Number.Refused(*id, err)
	if errors.Is(err, numbers.ErrFenced) {
		return identity.FencedError(err)
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
		elsewhere := errors.Is(err, sequencer.ErrUnavailable) || errors.Is(err, wire.ErrUnknownPath) ||
			errors.Is(err, wire.ErrWrongMethod)
		if err == nil || ctx.Err() != nil || !elsewhere {
			return err
		}
	}
	return err
}
