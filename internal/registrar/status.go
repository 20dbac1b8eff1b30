package registrar

import (
	"context"
	"errors"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/registration"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Status is the progress of a process's registration.
type Status struct {
	Cluster     string
	Set         string
	State       registration.State
	ID          uint64 // the number, 0 until it is stored
	Incarnation uint64 // 0 until it is registered
	Fenced      bool   // a later process has registered with the number
	Err         error  // from the last step, nil if it succeeded
}

// Status returns the present state.
func (r *Registrar) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Status{
		Cluster: r.cfg.Set.Cluster, Set: r.cfg.Set.Name, State: r.machine.State(), ID: r.machine.Number().ID,
		Incarnation: r.machine.Incarnation(), Fenced: r.machine.Fenced(), Err: r.machine.Err(),
	}
}

// NotRegistered returns nil while the process is registered, and otherwise the reason.
//
// Errors: sequencer.ErrFenced; sequencer.ErrUnavailable, which also matches the last step's error.
func (r *Registrar) NotRegistered() error {
	s := r.Status()
	switch {
	case s.Fenced:
		return FencedError(s.Err)
	case s.State == registration.Registered:
		return nil
	case s.Err != nil:
		return failure.Errorf(sequencer.ErrUnavailable, "set %q of cluster %q: not registered yet, state %s: %w", s.Set,
			s.Cluster, s.State, s.Err)
	}
	return failure.Errorf(sequencer.ErrUnavailable, "set %q of cluster %q: not registered yet, state %s", s.Set,
		s.Cluster, s.State)
}

// FencedError returns the error for a fenced process's handles, from the grid's answer.
func FencedError(err error) error {
	if errors.Is(err, sequencer.ErrFenced) {
		return err
	}
	return failure.Errorf(sequencer.ErrFenced, "%w", err)
}

// Await returns nil when the process is registered, and an error when it is fenced or ctx ends.
// Unless patient, it also fails for reasons that only an operator can change, such as a number
// without a record in the grid.
//
// Errors: as [Registrar.NotRegistered], and ctx's.
func (r *Registrar) Await(ctx context.Context, patient bool) error {
	for {
		r.mu.Lock()
		changed := r.changed
		r.mu.Unlock()
		err := r.NotRegistered()
		if err == nil || errors.Is(err, sequencer.ErrFenced) || !patient && needsOperator(err) {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return failure.Errorf(err, "%s: %w", err.Error(), ctx.Err())
		}
	}
}

// needsOperator reports whether an error stays until an operator does something. The
// registration is tried again all the same.
func needsOperator(err error) bool {
	for _, sentinel := range []error{roster.ErrNotRegistered, roster.ErrUnknownSet, wire.ErrBadRequest,
		sequencer.ErrInvalidConfig, security.ErrDenied, security.ErrUnauthenticated} {
		if errors.Is(err, sentinel) {
			return true
		}
	}
	return false
}

// Identity returns the identity for the process's requests to owners.
//
// Errors: as [Registrar.NotRegistered].
func (r *Registrar) Identity() (wire.Identity, error) {
	s := r.Status()
	if s.State != registration.Registered || s.Fenced {
		return wire.Identity{}, r.NotRegistered()
	}
	return wire.Identity{Cluster: s.Cluster, Set: s.Set, ID: s.ID, Incarnation: s.Incarnation}, nil
}

// Refused records that an owner rejected a request because of the identity in it.
func (r *Registrar) Refused(id wire.Identity, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if id.Incarnation != r.machine.Incarnation() {
		return // it belongs to an earlier registration of this process
	}
	switch refusalOf(err) {
	case registration.Fenced:
		if r.machine.Fenced() {
			return
		}
		r.machine.Fence(err)
		r.cfg.Log.Error("registration fenced", "cluster", r.cfg.Set.Cluster, "set", r.cfg.Set.Name, "number", id.ID,
			"error", err)
		r.signal()
	case registration.Unknown:
		r.machine.Ask(time.Since(r.began))
	default:
		return
	}
	select {
	case r.nudge <- struct{}{}:
	default:
	}
}

// Fenced is closed when a later process has registered with the number.
func (r *Registrar) Fenced() <-chan struct{} { return r.fenced }
