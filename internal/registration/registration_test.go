package registration

import (
	"errors"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

var web = Set{Cluster: "shop", Name: "web"}

// config returns a configuration with codes 1, 2, 3 and the longest pauses.
func config() Config {
	codes := byte(0)
	return Config{
		Set: web,
		NewCode: func() roster.Code {
			codes++
			return roster.Code{codes}
		},
		Rand: func(below time.Duration) time.Duration { return below - 1 },
	}
}

func number(id uint64, code byte) Number {
	return Number{Cluster: "shop", Set: "web", ID: id, Code: roster.Code{code}}
}

func start(t *testing.T, files Files) *Machine {
	t.Helper()
	m, err := New(config(), files)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// does checks the next step, and takes in its result.
func does(t *testing.T, m *Machine, now time.Duration, want Action, n Number, r Result) {
	t.Helper()
	if got := m.Step(now); got.Action != want || got.Number != n {
		t.Fatalf("at %v the step is to %v %+v, want to %v %+v", now, got.Action, got.Number, want, n)
	}
	m.Done(now, r)
}

func inState(t *testing.T, m *Machine, want State) {
	t.Helper()
	if m.State() != want {
		t.Fatalf("state %v, want %v", m.State(), want)
	}
}

// TestFirstStart: the application is stored before it is sent, and the final file before the
// application is removed.
func TestFirstStart(t *testing.T) {
	m := start(t, Files{})
	inState(t, m, Initial)
	does(t, m, 0, AskNext, Number{}, Result{Next: 3})
	does(t, m, 0, WriteTemp, number(3, 1), Result{})
	inState(t, m, TempDone)
	does(t, m, 0, Apply, number(3, 1), Result{})
	if m.Number() != (Number{}) {
		t.Errorf("number %v before it is stored", m.Number())
	}
	does(t, m, 0, WriteFinal, number(3, 1), Result{})
	inState(t, m, MetaDone)
	does(t, m, 0, RemoveTemp, number(3, 1), Result{})
	does(t, m, 0, Register, number(3, 1), Result{Incarnation: 7, Again: time.Minute})
	inState(t, m, Registered)
	if m.Number() != number(3, 1) || m.Incarnation() != 7 || m.Err() != nil {
		t.Errorf("registered as %v, incarnation %d, error %v", m.Number(), m.Incarnation(), m.Err())
	}
	if s := m.Step(time.Second); s.Action != Wait || s.At != time.Minute {
		t.Errorf("registered, the next step is to %v until %v", s.Action, s.At)
	}
}

// TestRestart: each state that files can show.
func TestRestart(t *testing.T) {
	three := number(3, 9)
	t.Run("application alone", func(t *testing.T) {
		m := start(t, Files{Temp: &three})
		inState(t, m, TempDone)
		does(t, m, 0, Apply, three, Result{})
	})
	t.Run("final alone", func(t *testing.T) {
		m := start(t, Files{Final: &three})
		inState(t, m, MetaDone)
		does(t, m, 0, Register, three, Result{Incarnation: 2})
	})
	t.Run("final wins over an application", func(t *testing.T) {
		other := number(4, 8)
		m := start(t, Files{Final: &three, Temp: &other})
		inState(t, m, MetaDone)
		does(t, m, 0, RemoveTemp, three, Result{})
		does(t, m, 0, Register, three, Result{Incarnation: 2})
	})
}

// TestOtherSet: files of another cluster or set are refused, with both named.
func TestOtherSet(t *testing.T) {
	for _, set := range []Set{{"shop", "api"}, {"other", "web"}} {
		n := Number{Cluster: set.Cluster, Set: set.Name, ID: 1, Code: roster.Code{1}}
		for _, files := range []Files{{Final: &n}, {Temp: &n}} {
			_, err := New(config(), files)
			var other *OtherSetError
			if !errors.As(err, &other) || other.File != set || other.Configured != web {
				t.Errorf("files of %v: %v", set, err)
			}
		}
	}
}

// TestUnknownOutcome: an application without an answer is repeated as it is, with the pauses
// of the rule: five random ones below a second, and then 5 s for as long as it takes.
func TestUnknownOutcome(t *testing.T) {
	m := start(t, Files{})
	does(t, m, 0, AskNext, Number{}, Result{Next: 1})
	does(t, m, 0, WriteTemp, number(1, 1), Result{})
	now := time.Duration(0)
	for try := 1; try <= 20; try++ {
		does(t, m, now, Apply, number(1, 1), Result{Err: errors.New("no answer")})
		inState(t, m, TempDone)
		want := Jitter - 1
		if try > JitterMax {
			want = RetryAfter
		}
		if s := m.Step(now); s.Action != Wait || s.At != now+want {
			t.Fatalf("after try %d: to %v until %v, want to wait until %v", try, s.Action, s.At, now+want)
		}
		now += want
	}
	does(t, m, now, Apply, number(1, 1), Result{})
	does(t, m, now, WriteFinal, number(1, 1), Result{})
	if m.Err() != nil {
		t.Errorf("the error stayed: %v", m.Err())
	}
}

// TestRefusal: an explicit refusal alone removes the application, and the next one has
// another code. The pauses grow with the refusals.
func TestRefusal(t *testing.T) {
	m := start(t, Files{})
	now := time.Duration(0)
	for try := byte(1); try <= 8; try++ {
		does(t, m, now, AskNext, Number{}, Result{Next: uint64(try)})
		n := number(uint64(try), try)
		does(t, m, now, WriteTemp, n, Result{})
		does(t, m, now, Apply, n, Result{Err: errors.New("refused"), Refusal: Taken})
		inState(t, m, TempDone)
		does(t, m, now, RemoveTemp, n, Result{})
		inState(t, m, Initial)
		want := now + Jitter - 1
		if try > JitterMax {
			want = now + RetryAfter
		}
		if s := m.Step(now); s.Action != Wait || s.At != want {
			t.Fatalf("after refusal %d: to %v until %v, want to wait until %v", try, s.Action, s.At, want)
		}
		now = want
	}
	does(t, m, now, AskNext, Number{}, Result{Next: 9})
}

// TestRefusedFileStays: an application that cannot be removed is not forgotten, nor sent
// again.
func TestRefusedFileStays(t *testing.T) {
	three := number(3, 9)
	m := start(t, Files{Temp: &three})
	does(t, m, 0, Apply, three, Result{Err: errors.New("refused"), Refusal: Taken})
	does(t, m, 0, RemoveTemp, three, Result{Err: errors.New("disk")})
	does(t, m, Jitter, RemoveTemp, three, Result{})
	does(t, m, 2*Jitter, AskNext, Number{}, Result{Next: 4})
}

// TestFailedWrites: what cannot be stored is stored again before anything else.
func TestFailedWrites(t *testing.T) {
	disk := Result{Err: errors.New("disk full")}
	m := start(t, Files{})
	does(t, m, 0, AskNext, Number{}, Result{Next: 1})
	does(t, m, 0, WriteTemp, number(1, 1), disk)
	inState(t, m, Initial)
	does(t, m, Jitter, WriteTemp, number(1, 1), Result{})
	does(t, m, Jitter, Apply, number(1, 1), Result{})
	does(t, m, Jitter, WriteFinal, number(1, 1), disk)
	inState(t, m, TempDone)
	does(t, m, 2*Jitter, WriteFinal, number(1, 1), Result{})
	does(t, m, 2*Jitter, RemoveTemp, number(1, 1), disk)
	does(t, m, 3*Jitter, RemoveTemp, number(1, 1), Result{})
	does(t, m, 3*Jitter, Register, number(1, 1), Result{Incarnation: 1})
}

// TestSignOfLife: the incarnation is shown again; lost answers change nothing, an unknown
// number is registered again, and a fenced process does nothing further.
func TestSignOfLife(t *testing.T) {
	three := number(3, 9)
	m := start(t, Files{Final: &three})
	does(t, m, 0, Register, three, Result{Incarnation: 2, Again: time.Minute})
	if s := m.Step(time.Minute); s.Action != Register || s.Incarnation != 2 {
		t.Fatalf("a minute later the step is %+v", s)
	}
	m.Done(time.Minute, Result{Err: errors.New("no answer")})
	inState(t, m, Registered)
	now := time.Minute + Jitter
	does(t, m, now, Register, three, Result{Incarnation: 2, Again: time.Minute})
	m.Ask(now)
	does(t, m, now, Register, three, Result{Err: errors.New("unknown"), Refusal: Unknown})
	inState(t, m, MetaDone)
	now += Jitter
	if s := m.Step(now); s.Action != Register || s.Incarnation != 0 || s.Number != three {
		t.Fatalf("an unknown number: the step is %+v", s)
	}
	m.Done(now, Result{Incarnation: 5, Again: time.Minute})
	now += time.Minute
	does(t, m, now, Register, three, Result{Err: errors.New("fenced"), Refusal: Fenced})
	if s := m.Step(now + time.Hour); s.Action != Idle || !m.Fenced() || m.Err() == nil {
		t.Errorf("fenced: the step is to %v, error %v", s.Action, m.Err())
	}
}

// TestFencedByOwner: the answer to a request in progress does not end that.
func TestFencedByOwner(t *testing.T) {
	three := number(3, 9)
	m := start(t, Files{Final: &three})
	m.Step(0)
	m.Fence(errors.New("fenced"))
	m.Done(0, Result{Incarnation: 2})
	if s := m.Step(0); s.Action != Idle || m.Err() == nil || m.Incarnation() != 0 {
		t.Errorf("fenced: the step is to %v, error %v, incarnation %d", s.Action, m.Err(), m.Incarnation())
	}
}

// TestNumbersBeginAtOne: 0 is not a number.
func TestNumbersBeginAtOne(t *testing.T) {
	m := start(t, Files{})
	does(t, m, 0, AskNext, Number{}, Result{})
	does(t, m, Jitter, AskNext, Number{}, Result{Next: 1})
	does(t, m, Jitter, WriteTemp, number(1, 1), Result{})
}
