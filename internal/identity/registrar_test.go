package identity

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// service is the grid and the disk of a process, in memory. before may fail a request before
// it arrives, and after may lose its answer.
type service struct {
	mu            sync.Mutex
	set           numbers.Set
	files         Files
	did           []string // in order
	before, after func(path string) error
}

// newService returns a service whose next number is given.
func newService(next uint64) *service {
	s := &service{set: numbers.Set{Cluster: "shop", Name: "web", Next: next}}
	s.before = func(string) error { return nil }
	s.after = s.before
	return s
}

func (s *service) note(what string) {
	s.did = append(s.did, what)
}

func (s *service) StoreApplication(n Number) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note("temp")
	s.files.Application = &n
	return nil
}

func (s *service) StoreNumber(n Number) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note("final")
	s.files.Number = &n
	return nil
}

func (s *service) RemoveApplication() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note("remove")
	s.files.Application = nil
	return nil
}

// call serves a request of the process.
func (s *service) call(_ context.Context, path string, in, out any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(path[strings.LastIndexByte(path, '/')+1:])
	if err := s.before(path); err != nil {
		return err
	}
	set := &s.set
	switch in := in.(type) {
	case wire.IdentityNextRequest:
		out.(*wire.IdentityNextResponse).Next = set.Next
	case wire.IdentityApplyRequest:
		have, given := set.Process(in.ID)
		switch {
		case in.ID == set.Next:
			set.Members = append(set.Members, numbers.Process{ID: in.ID, Code: in.Code})
			set.Next++
		case !given || have.Code != in.Code:
			return &numbers.RefusedID{Next: set.Next, Reason: "taken"}
		}
		*out.(*wire.IdentityApplyResponse) = wire.IdentityApplyResponse{ID: in.ID, Next: set.Next}
	case wire.IdentityRegisterRequest:
		i := slices.IndexFunc(set.Members, func(m numbers.Process) bool { return m.ID == in.ID && m.Code == in.Code })
		switch {
		case i < 0:
			return numbers.ErrNotRegistered
		case in.Incarnation > 0 && in.Incarnation < set.Members[i].Incarnation:
			return numbers.ErrFenced
		case in.Start != set.Members[i].Start:
			set.Members[i].Start = in.Start
			set.Members[i].Incarnation++
		}
		*out.(*wire.IdentityRegisterResponse) = wire.IdentityRegisterResponse{Incarnation: set.Members[i].Incarnation,
			AgainMS: 1000}
	}
	return s.after(path)
}

// begin starts a process with the files that there are; it ends with the test or by stop.
func (s *service) begin(t *testing.T) (r *Registrar, stop func()) {
	t.Helper()
	r = New(Config{Set: web, Files: s.files, Store: s, Call: s.call, Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		r.Run(ctx)
		close(ended)
	}()
	stop = func() {
		cancel()
		<-ended
	}
	t.Cleanup(stop)
	return r, stop
}

// does checks the requests and writes so far, and forgets them.
func (s *service) does(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.did, want) {
		t.Errorf("the process did %v, want %v", s.did, want)
	}
	s.did = nil
}

// TestRegistrarRegisters: the order of a first start, of signs of life, and of a restart.
func TestRegistrarRegisters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(3)
		r, stop := s.begin(t)
		if err := r.Await(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		s.does(t, "next", "temp", "apply", "final", "remove", "register")
		id, err := r.Identity()
		if err != nil || *id != (wire.Identity{Cluster: "shop", Set: "web", ID: 3, Incarnation: 1}) {
			t.Errorf("identity %+v, %v", id, err)
		}
		time.Sleep(2500 * time.Millisecond)
		s.does(t, "register", "register")
		stop()
		r, _ = s.begin(t)
		if err := r.Await(t.Context(), false); err != nil || r.ID() != 3 || r.Status().Incarnation != 2 {
			t.Errorf("restarted: %+v, %v", r.Status(), err)
		}
		s.does(t, "register")
	})
}

// TestLostAnswerUsesUpNoNumber: an application whose answer is lost is repeated as it is, and
// its file stays.
func TestLostAnswerUsesUpNoNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(1)
		lose := 3
		s.after = func(path string) error {
			if path == wire.PathIdentityApply && lose > 0 {
				lose--
				return sequencer.ErrUnavailable
			}
			return nil
		}
		r, _ := s.begin(t)
		if err := r.Await(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		s.does(t, "next", "temp", "apply", "apply", "apply", "apply", "final", "remove", "register")
		if next := s.set.Next; r.ID() != 1 || next != 2 {
			t.Errorf("number %d, and the next one is %d", r.ID(), next)
		}
	})
}

// TestRefusedApplicationIsMadeAgain: for the next number, after its file was removed.
func TestRefusedApplicationIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(1)
		s.before = func(path string) error {
			if set := &s.set; path == wire.PathIdentityApply && set.Next == 1 { // another process is faster
				set.Next, set.Members = 2, []numbers.Process{{ID: 1, Code: numbers.Code{9}}}
			}
			return nil
		}
		r, _ := s.begin(t)
		if err := r.Await(t.Context(), false); err != nil || r.ID() != 2 {
			t.Errorf("%+v, %v", r.Status(), err)
		}
		s.does(t, "next", "temp", "apply", "remove", "next", "temp", "apply", "final", "remove", "register")
	})
}

// TestUnknownNumberIsAnError: a number that the grid does not know is never replaced by
// another one, and is registered once the grid knows it again.
func TestUnknownNumberIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(5)
		n := Number{Cluster: "shop", Set: "web", ID: 3, Code: numbers.Code{7}}
		s.files.Number = &n
		r, _ := s.begin(t)
		if err := r.Await(t.Context(), false); !errors.Is(err, numbers.ErrNotRegistered) {
			t.Errorf("await: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := r.Await(ctx, true)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, sequencer.ErrUnavailable) ||
			!strings.Contains(err.Error(), "META_DONE") {
			t.Errorf("await with patience: %v", err)
		}
		if *s.files.Number != n || s.files.Application != nil || slices.Contains(s.did, "next") {
			t.Errorf("files %+v after %v", s.files, s.did)
		}
		s.mu.Lock()
		s.set.Members = []numbers.Process{{ID: 3, Code: n.Code, Incarnation: 4}} // an operator imports it
		s.mu.Unlock()
		if err := r.Await(t.Context(), true); err != nil || r.Status().Incarnation != 5 {
			t.Errorf("imported: %+v, %v", r.Status(), err)
		}
	})
}

// TestLaterProcessFences: by the next sign of life, or by the refusal of an owner, which
// counts only for the present incarnation.
func TestLaterProcessFences(t *testing.T) {
	for _, byOwner := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newService(1)
			r, _ := s.begin(t)
			if err := r.Await(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			id, _ := r.Identity()
			id.Incarnation--
			r.Refused(*id, numbers.ErrFenced)
			if _, err := r.Identity(); err != nil {
				t.Errorf("fenced by a refusal of an earlier incarnation: %v", err)
			}
			if byOwner {
				id.Incarnation++
				r.Refused(*id, numbers.ErrFenced)
			} else {
				later, _ := s.begin(t) // from a copy of the files
				if err := later.Await(t.Context(), false); err != nil {
					t.Fatal(err)
				}
			}
			select {
			case <-r.Fenced():
			case <-time.After(5 * time.Second):
				t.Fatal("not fenced")
			}
			if _, err := r.Identity(); !errors.Is(err, sequencer.ErrFenced) || !errors.Is(err, numbers.ErrFenced) {
				t.Errorf("identity: %v", err)
			}
		})
	}
}

// TestUnknownToAnOwnerIsLookedUp: the process registers again when an owner does not know its
// number any longer.
func TestUnknownToAnOwnerIsLookedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(1)
		r, _ := s.begin(t)
		if err := r.Await(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		removed := s.set.Members
		s.set.Members = nil
		s.mu.Unlock()
		id, _ := r.Identity()
		r.Refused(*id, numbers.ErrNotRegistered)
		synctest.Wait()
		if _, err := r.Identity(); !errors.Is(err, numbers.ErrNotRegistered) {
			t.Errorf("the process says %v", err)
		}
		if _, err := r.Identity(); err == nil {
			t.Error("it still shows its number")
		}
		s.mu.Lock()
		s.set.Members = removed
		s.mu.Unlock()
		if err := r.Await(t.Context(), true); err != nil {
			t.Error(err)
		}
	})
}

// TestTimeLimitOfAStep: the time limit of a step is not the end of the caller's context.
func TestTimeLimitOfAStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(1)
		s.before = func(string) error {
			return failure.Errorf(sequencer.ErrUnavailable, "a:1: %w", context.DeadlineExceeded)
		}
		r, _ := s.begin(t)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		awaited := r.Await(ctx, false)
		_, err := r.Identity()
		for _, err := range []error{awaited, err} {
			if !errors.Is(err, sequencer.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) ||
				!strings.Contains(err.Error(), "a:1") {
				t.Error(err)
			}
		}
	})
}
