// Package state holds the shared state of a member: the newest roster, the clocks that
// follow it, and whether the member still takes part. Only package raftlog, by the Raft log
// and the leader's pushes, and the change from one grid to the next write the roster.
package state

import (
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/signal"
	"sync"
	"sync/atomic"
	"time"
)

// State is a member's knowledge of its grid. Its methods may be called from any goroutine.
type State struct {
	// Clock is sampled by the log alone; the member's answers carry its time.
	Clock *handles.Clock
	// Handles is the clock of the member's own handles, which answers sample too.
	Handles *handles.Clock
	// Ended means that this member has stopped granting: its roster may be outdated.
	Ended atomic.Bool

	roster  atomic.Pointer[roster.Roster]
	changed signal.Broadcast
	raised  atomic.Pointer[Raise]
	leaving atomic.Bool
	counts  counts

	otherClaim atomic.Int64 // when a server was refused for its claim last, by the monotonic clock; 0: none was

	mu    sync.Mutex // guards fatal
	fatal error
}

// Raise is a raise of the ceiling that was applied, and the time since which its Time has run, by the monotonic clock.
type Raise struct {
	Time clustertime.Tick
	At   time.Duration
}

// New returns the state of a member that has no roster yet.
func New(clock, handles *handles.Clock) *State {
	s := &State{Clock: clock, Handles: handles}
	s.roster.Store(&roster.Roster{})
	return s
}

// Roster returns the newest roster, an unformed one before the first command. It is immutable.
func (s *State) Roster() *roster.Roster { return s.roster.Load() }

// Apply replaces the roster after a committed command.
func (s *State) Apply(r *roster.Roster) {
	if s.raised.Load() != nil { // else it is a log that is read again
		s.counts.add(s.roster.Load(), r)
	}
	s.roster.Store(r)
	s.changed.Send()
}

// NoteRaise records a raise in the log by the present leader. The clocks do not follow it: it may be as old as the
// distance between two raises.
func (s *State) NoteRaise(t clustertime.Tick) {
	if last := s.raised.Load(); last == nil || last.Time < t {
		s.setRaised(Raise{Time: t, At: s.Clock.Mono()})
	}
}

// Advance records that cluster time is now, and the newest raise that was applied.
func (s *State) Advance(now, raised clustertime.Tick) {
	s.Clock.Sample(now)
	s.Handles.Sample(now)
	at := s.Clock.Mono() - max(0, now.Sub(raised)).Duration()
	if last := s.raised.Load(); last == nil || last.Time != raised || at < last.At {
		s.setRaised(Raise{Time: raised, At: at})
	}
}

func (s *State) setRaised(r Raise) {
	s.raised.Store(&r)
	s.changed.Send()
}

// RaisedTime returns the time that the last raise set, moved on by the time since; 0 before the first raise.
func (s *State) RaisedTime() clustertime.Tick {
	last := s.raised.Load()
	if last == nil {
		return 0
	}
	return last.Time.Add(clustertime.SpanOf(s.Clock.Mono() - last.At))
}

// LastRaise returns the last raise of the ceiling that was applied here, nil before the
// first.
func (s *State) LastRaise() *Raise { return s.raised.Load() }

// RaiseAge returns the time since the last ceiling raise was applied here, negative before the first.
func (s *State) RaiseAge() time.Duration {
	last := s.raised.Load()
	if last == nil {
		return -1
	}
	return s.Clock.Mono() - last.At
}

// Reset forgets the grid, for a member that has left it. The clock of the member's own
// handles stays.
func (s *State) Reset() {
	s.Clock.Forget()
	s.roster.Store(&roster.Roster{})
}

// Changed returns a channel that is closed at the next change of the member's view of the grid.
func (s *State) Changed() <-chan struct{} { return s.changed.Wait() }

// Notify signals a change.
func (s *State) Notify() { s.changed.Send() }

// Leave notes that this member leaves its grid.
func (s *State) Leave() { s.leaving.Store(true) }

// Leaving reports whether this member leaves its grid.
func (s *State) Leaving() bool { return s.leaving.Load() }

// Fail notes why this member can never serve, however long it waits. The first reason
// counts.
func (s *State) Fail(err error) {
	s.mu.Lock()
	if s.fatal == nil {
		s.fatal = err
	}
	s.mu.Unlock()
	s.changed.Send()
}

// Failure returns why this member can never serve, nil if it may.
func (s *State) Failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fatal
}

// NoteOtherClaim records that this member has refused the Raft stream of a server that states another anchor claim, or
// none.
func (s *State) NoteOtherClaim() { s.otherClaim.Store(int64(max(1, s.Clock.Mono()))) }

// OtherClaimWithin reports whether this member has refused such a server within a time before now.
func (s *State) OtherClaimWithin(d time.Duration) bool {
	at := time.Duration(s.otherClaim.Load())
	return at > 0 && s.Clock.Mono()-at < d
}
