// Package registrar runs a process's registration (package registration): it makes the calls, keeps
// the files in the data directory, and waits. It also stores the process's logical nodes for its
// next start (Nodes).
//
// A process starts it with [Registrar.Run], and waits for the number with [Registrar.Await].
package registrar

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mrand "math/rand/v2"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/registration"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Store keeps a registration's files durably: when a method returns, the data that it wrote is on
// disk.
type Store interface {
	WriteTemp(n registration.Number) error
	WriteFinal(n registration.Number) error // atomically; the application stays
	RemoveTemp() error
}

// Config configures a registration.
type Config struct {
	Set   registration.Set
	Files registration.Files // as they were read
	Store Store
	// Call sends a request to any member of the grid, and decodes the answer into out. Its duration
	// is bounded.
	Call func(ctx context.Context, path string, in, out any) error
	// Addr is the process's address, for display.
	Addr string
	// Member is the process's ID as a grid member, "" for a client.
	Member roster.MemberID
	Log    *slog.Logger
}

// Registrar is this process's registration. The methods are safe for concurrent use.
type Registrar struct {
	cfg   Config
	start roster.Code // this process's code
	began time.Time
	nudge chan struct{} // makes Run look at the machine immediately

	mu      sync.Mutex // guards the fields below; never held while waiting
	machine *registration.Machine
	changed chan struct{} // closed and replaced at each change
	fenced  chan struct{} // closed when the machine is fenced
}

// New returns a registration that has not begun.
//
// Errors: sequencer.ErrInvalidConfig if the files belong to another cluster or set than the
// configured one. In this case nothing is written.
func New(cfg Config) (*Registrar, error) {
	machine, err := registration.New(registration.Config{Set: cfg.Set, NewCode: newCode,
		Rand: mrand.N[time.Duration]}, cfg.Files)
	if err != nil {
		return nil, failure.Errorf(sequencer.ErrInvalidConfig, "DataDir: %w", err)
	}
	return &Registrar{
		cfg: cfg, start: newCode(), began: time.Now(), nudge: make(chan struct{}, 1), machine: machine,
		changed: make(chan struct{}), fenced: make(chan struct{}),
	}, nil
}

// newCode returns 128 random bits.
func newCode() (c roster.Code) {
	_, _ = rand.Read(c[:]) // never fails
	return c
}

// Run registers the process, and sends signs of life, until ctx ends or a later process has the
// number.
func (r *Registrar) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		step := r.step()
		switch step.Action {
		case registration.Idle:
			return
		case registration.Wait:
			timer.Reset(step.At - time.Since(r.began))
			select {
			case <-timer.C:
			case <-r.nudge:
			case <-ctx.Done():
			}
		default:
			result := r.do(ctx, step)
			if ctx.Err() == nil {
				r.done(step, result)
			}
		}
	}
}

func (r *Registrar) step() registration.Step {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.machine.Step(time.Since(r.began))
}

// done applies a step's result, and logs changes.
func (r *Registrar) done(step registration.Step, result registration.Result) {
	r.mu.Lock()
	before, said := r.machine.State(), r.machine.Err()
	r.machine.Done(time.Since(r.began), result)
	after, n, err, fenced := r.machine.State(), r.machine.Number(), r.machine.Err(), r.machine.Fenced()
	r.signal()
	r.mu.Unlock()
	log := r.cfg.Log.With("cluster", r.cfg.Set.Cluster, "set", r.cfg.Set.Name)
	switch {
	case fenced:
		log.Error("registration fenced", "number", n.ID, "error", err)
	case err != nil && (said == nil || said.Error() != err.Error()):
		log.Warn("registration failed; retrying", "step", step.Action.String(), "state", after.String(), "error", err)
	case after == registration.Registered && before != after:
		log.Info("process registered", "number", n.ID, "incarnation", result.Incarnation)
	}
}

// signal wakes all waiters after a change. mu must be held.
func (r *Registrar) signal() {
	close(r.changed)
	r.changed = make(chan struct{})
	if r.machine.Fenced() {
		select {
		case <-r.fenced:
		default:
			close(r.fenced)
		}
	}
}

// do carries a step out.
func (r *Registrar) do(ctx context.Context, s registration.Step) (result registration.Result) {
	set, n := r.cfg.Set, s.Number
	switch s.Action {
	case registration.AskNext:
		var out wire.IdentityNextResponse
		result.Err = r.cfg.Call(ctx, wire.PathIdentityNext,
			wire.IdentityNextRequest{Cluster: set.Cluster, Name: set.Name}, &out)
		result.Next = out.Next
	case registration.WriteTemp:
		result.Err = r.cfg.Store.WriteTemp(n)
	case registration.Apply:
		var out wire.IdentityApplyResponse
		result.Err = r.cfg.Call(ctx, wire.PathIdentityApply, wire.IdentityApplyRequest{Cluster: n.Cluster, Name: n.Set,
			ID: n.ID, Code: n.Code, Addr: r.cfg.Addr}, &out)
		if result.Err == nil && out.ID != n.ID {
			result.Err = fmt.Errorf("the grid answered number %d to an application for %d", out.ID, n.ID)
		}
		if result.Err == nil {
			AtCrashPoint(AfterApply)
		}
	case registration.WriteFinal:
		if result.Err = r.cfg.Store.WriteFinal(n); result.Err == nil {
			AtCrashPoint(AfterFinal)
		}
	case registration.RemoveTemp:
		result.Err = r.cfg.Store.RemoveTemp()
	case registration.Register:
		if s.Incarnation == 0 {
			AtCrashPoint(BeforeRegister)
		}
		result = r.register(ctx, s)
	}
	result.Refusal = refusalOf(result.Err)
	return result
}

// register registers the number, or sends a sign of life for the registered process.
func (r *Registrar) register(ctx context.Context, s registration.Step) (result registration.Result) {
	n := s.Number
	in := wire.IdentityRegisterRequest{
		Cluster: n.Cluster, Name: n.Set, ID: n.ID, Code: n.Code, Addr: r.cfg.Addr,
		Protocol: int(roster.CurrentProtocol), Start: r.start, Incarnation: s.Incarnation, Member: r.cfg.Member,
	}
	var out wire.IdentityRegisterResponse
	result.Err = r.cfg.Call(ctx, wire.PathIdentityRegister, in, &out)
	if result.Err == nil && out.Incarnation == 0 {
		result.Err = errors.New("the grid answered a registration without an incarnation")
	}
	result.Incarnation, result.Again = out.Incarnation, time.Duration(out.AgainMS)*time.Millisecond
	return result
}

// refusalOf returns the meaning of an answer. Only explicit refusals count: a request without an
// answer may have been carried out.
func refusalOf(err error) registration.Refusal {
	switch {
	case errors.Is(err, roster.ErrIDRefused):
		return registration.Taken
	case errors.Is(err, roster.ErrNotRegistered), errors.Is(err, roster.ErrUnknownSet):
		return registration.Unknown
	case errors.Is(err, roster.ErrFenced):
		return registration.Fenced
	}
	return registration.None
}
