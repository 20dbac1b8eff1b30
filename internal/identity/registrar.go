package identity

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
	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Store keeps a number and its application durably: when a method returns, the data that it wrote is
// on disk.
type Store interface {
	StoreApplication(n Number) error
	StoreNumber(n Number) error // atomically; the application stays
	RemoveApplication() error
}

// Config configures a registration.
type Config struct {
	Set   Set   // of [Files.Set]
	Files Files // as they were read
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

// Registrar registers this process: it makes the calls, keeps the files, and waits. nil is the
// registrar of a process without a set, which needs no registration. The methods are safe for
// concurrent use.
type Registrar struct {
	cfg   Config
	start numbers.Code // this process's code
	began time.Time
	nudge signal.Signal // makes Run look at the machine immediately

	mu      sync.Mutex // guards the fields below; never held while waiting
	machine machine
	changed signal.Broadcast
	fenced  chan struct{} // closed when the machine is fenced
}

// New returns a registration that has not begun.
func New(cfg Config) *Registrar {
	r := &Registrar{
		cfg: cfg, start: newCode(), began: time.Now(), nudge: signal.New(),
		machine: machine{set: cfg.Set, newCode: newCode, rand: mrand.N[time.Duration]},
		fenced:  make(chan struct{}),
	}
	r.machine.begin(cfg.Files)
	return r
}

// newCode returns 128 random bits.
func newCode() (c numbers.Code) {
	_, _ = rand.Read(c[:]) // never fails
	return c
}

// Run registers the process, and sends signs of life, until ctx ends or a later process has the
// number.
func (r *Registrar) Run(ctx context.Context) {
	for ctx.Err() == nil {
		r.mu.Lock()
		s := r.machine.step(time.Since(r.began))
		r.mu.Unlock()
		switch s.action {
		case idle:
			return
		case wait:
			r.nudge.Wait(ctx, s.at-time.Since(r.began))
		default:
			result := r.do(ctx, s)
			if ctx.Err() == nil {
				r.done(s, result)
			}
		}
	}
}

// done applies a step's result, and logs changes.
func (r *Registrar) done(s step, result result) {
	if errors.Is(result.err, context.DeadlineExceeded) { // of the call, and of no caller
		result.err = failure.Errorf(sequencer.ErrUnavailable, "%s", result.err.Error())
	}
	r.mu.Lock()
	before := r.machine
	r.machine.done(time.Since(r.began), result)
	after := r.machine
	r.signal()
	r.mu.Unlock()
	log := r.log()
	switch err := after.err; {
	case after.fenced:
		log.Error("registration fenced", "number", after.number.ID, "error", err)
	case err != nil && (before.err == nil || before.err.Error() != err.Error()):
		log.Warn("registration failed; retrying", "step", string(s.action), "state", string(after.state), "error", err)
	case after.state == Registered && before.state != Registered:
		log.Info("process registered", "number", after.number.ID, "incarnation", after.incarnation)
	}
}

func (r *Registrar) log() *slog.Logger {
	return r.cfg.Log.With("cluster", r.cfg.Set.Cluster, "set", r.cfg.Set.Name)
}

// signal wakes all waiters after a change. mu must be held.
func (r *Registrar) signal() {
	r.changed.Send()
	if r.machine.fenced {
		select {
		case <-r.fenced:
		default:
			close(r.fenced)
		}
	}
}

func (r *Registrar) do(ctx context.Context, s step) (result result) {
	set, n := r.cfg.Set, s.number
	switch s.action {
	case askNext:
		var out wire.IdentityNextResponse
		result.err = r.cfg.Call(ctx, wire.PathIdentityNext,
			wire.IdentityNextRequest{Cluster: set.Cluster, Name: set.Name}, &out)
		result.next = out.Next
	case storeApplication:
		result.err = r.cfg.Store.StoreApplication(n)
	case apply:
		var out wire.IdentityApplyResponse
		result.err = r.cfg.Call(ctx, wire.PathIdentityApply, wire.IdentityApplyRequest{Cluster: n.Cluster, Name: n.Set,
			ID: n.ID, Code: n.Code, Addr: r.cfg.Addr}, &out)
		if result.err == nil && out.ID != n.ID {
			result.err = fmt.Errorf("the grid answered number %d to an application for %d", out.ID, n.ID)
		}
		if result.err == nil {
			AtCrashPoint(AfterApply)
		}
	case storeNumber:
		if result.err = r.cfg.Store.StoreNumber(n); result.err == nil {
			AtCrashPoint(AfterNumber)
		}
	case removeApplication:
		result.err = r.cfg.Store.RemoveApplication()
	case register:
		if s.incarnation == 0 {
			AtCrashPoint(BeforeRegister)
		}
		return r.register(ctx, s)
	}
	return result
}

// register registers the number, or sends a sign of life for the registered process.
func (r *Registrar) register(ctx context.Context, s step) (result result) {
	n := s.number
	in := wire.IdentityRegisterRequest{
		Cluster: n.Cluster, Name: n.Set, ID: n.ID, Code: n.Code, Addr: r.cfg.Addr,
		Protocol: int(roster.CurrentProtocol), Start: r.start, Incarnation: s.incarnation, Member: r.cfg.Member,
	}
	var out wire.IdentityRegisterResponse
	result.err = r.cfg.Call(ctx, wire.PathIdentityRegister, in, &out)
	if result.err == nil && out.Incarnation == 0 {
		result.err = errors.New("the grid answered a registration without an incarnation")
	}
	result.incarnation, result.again = out.Incarnation, time.Duration(out.AgainMS)*time.Millisecond
	return result
}

// Status is the progress of a process's registration.
type Status struct {
	Cluster     string
	Set         string
	State       string // the text of a [State]
	Number      uint64 // 0 until it is stored
	Incarnation uint64 // 0 until it is registered
	// Err is from the last step, nil if it succeeded. It matches sequencer.ErrFenced after a later
	// process has registered with the number.
	Err error
}

// Status returns the present state.
func (r *Registrar) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := &r.machine
	s := Status{Cluster: r.cfg.Set.Cluster, Set: r.cfg.Set.Name, State: string(m.state), Number: m.storedNumber(),
		Incarnation: m.incarnation, Err: m.err}
	if m.fenced {
		s.Err = FencedError(m.err)
	}
	return s
}

// ID returns the stored number, 0 if the process has none.
func (r *Registrar) ID() uint64 {
	if r == nil {
		return 0
	}
	return r.Status().Number
}

// Identity returns the identity for the process's requests to owners, nil for a process without a
// set. Without an error, the process is registered.
//
// Errors: sequencer.ErrFenced; sequencer.ErrUnavailable, which also matches the last step's error.
func (r *Registrar) Identity() (*wire.Identity, error) {
	if r == nil {
		return nil, nil
	}
	s := r.Status()
	switch {
	case errors.Is(s.Err, sequencer.ErrFenced):
		return nil, s.Err
	case s.State == string(Registered):
		return &wire.Identity{Cluster: s.Cluster, Set: s.Set, ID: s.Number, Incarnation: s.Incarnation}, nil
	case s.Err != nil:
		return nil, failure.Errorf(sequencer.ErrUnavailable, "set %q of cluster %q: not registered yet, state %s: %w", s.Set,
			s.Cluster, s.State, s.Err)
	}
	return nil, failure.Errorf(sequencer.ErrUnavailable, "set %q of cluster %q: not registered yet, state %s", s.Set,
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
// Errors: as [Registrar.Identity], and ctx's.
func (r *Registrar) Await(ctx context.Context, patient bool) error {
	if r == nil {
		return nil
	}
	for {
		changed := r.changed.Wait()
		_, err := r.Identity()
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
	for _, sentinel := range []error{wire.ErrBadRequest, sequencer.ErrInvalidConfig, security.ErrDenied,
		security.ErrUnauthenticated} {
		if errors.Is(err, sentinel) {
			return true
		}
	}
	return unknownNumber(err)
}

// Refused records that an owner rejected a request because of the identity in it.
func (r *Registrar) Refused(id wire.Identity, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case id.Incarnation != r.machine.incarnation || r.machine.fenced:
		return // it belongs to an earlier registration of this process
	case errors.Is(err, numbers.ErrFenced):
		r.machine.fence(err)
		r.log().Error("registration fenced", "number", id.ID, "error", err)
		r.signal()
	case unknownNumber(err):
		r.machine.ask(time.Since(r.began))
	default:
		return
	}
	r.nudge.Send()
}

// Fenced is closed when a later process has registered with the number.
func (r *Registrar) Fenced() <-chan struct{} { return r.fenced }
