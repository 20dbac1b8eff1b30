package identity

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/identity/numbers"
)

var web = Set{Cluster: "shop", Name: "web"}

func number(id uint64, code byte) Number {
	return Number{Cluster: "shop", Set: "web", ID: id, Code: numbers.Code{code}}
}

// start returns a machine with codes 1, 2, 3 and the longest pauses.
func start(files Files) *machine {
	codes := byte(0)
	m := &machine{
		set: web,
		newCode: func() numbers.Code {
			codes++
			return numbers.Code{codes}
		},
		rand: func(below time.Duration) time.Duration { return below - 1 },
	}
	m.begin(files)
	return m
}

// does checks the next step, and applies its result.
func does(t *testing.T, m *machine, now time.Duration, want action, n Number, r result) {
	t.Helper()
	if got := m.step(now); got.action != want || got.number != n {
		t.Fatalf("at %v the step is to %v %+v, want to %v %+v", now, got.action, got.number, want, n)
	}
	m.done(now, r)
}

func inState(t *testing.T, m *machine, want State) {
	t.Helper()
	if m.state != want {
		t.Fatalf("state %v, want %v", m.state, want)
	}
}

// TestFirstStart: the application is stored before it is sent, and the final file before the
// application is removed.
func TestFirstStart(t *testing.T) {
	m := start(Files{})
	inState(t, m, Initial)
	does(t, m, 0, askNext, Number{}, result{next: 3})
	does(t, m, 0, storeApplication, number(3, 1), result{})
	inState(t, m, Applying)
	does(t, m, 0, apply, number(3, 1), result{})
	if m.storedNumber() != 0 {
		t.Errorf("number %v before it is stored", m.storedNumber())
	}
	does(t, m, 0, storeNumber, number(3, 1), result{})
	inState(t, m, Numbered)
	does(t, m, 0, removeApplication, number(3, 1), result{})
	does(t, m, 0, register, number(3, 1), result{incarnation: 7, again: time.Minute})
	inState(t, m, Registered)
	if m.storedNumber() != 3 || m.incarnation != 7 || m.err != nil {
		t.Errorf("registered as %v, incarnation %d, error %v", m.storedNumber(), m.incarnation, m.err)
	}
	if s := m.step(time.Second); s.action != wait || s.at != time.Minute {
		t.Errorf("registered, the next step is to %v until %v", s.action, s.at)
	}
}

// TestRestart: each state that files can show.
func TestRestart(t *testing.T) {
	three := number(3, 9)
	t.Run("application alone", func(t *testing.T) {
		m := start(Files{Application: &three})
		inState(t, m, Applying)
		does(t, m, 0, apply, three, result{})
	})
	t.Run("final alone", func(t *testing.T) {
		m := start(Files{Number: &three})
		inState(t, m, Numbered)
		does(t, m, 0, register, three, result{incarnation: 2})
	})
	t.Run("final wins over an application", func(t *testing.T) {
		other := number(4, 8)
		m := start(Files{Number: &three, Application: &other})
		inState(t, m, Numbered)
		does(t, m, 0, removeApplication, three, result{})
		does(t, m, 0, register, three, result{incarnation: 2})
	})
}

// TestOtherSet: files of another cluster or set are refused, with both named.
func TestOtherSet(t *testing.T) {
	for _, set := range []Set{{"shop", "api"}, {"other", "web"}} {
		n := Number{Cluster: set.Cluster, Set: set.Name, ID: 1, Code: numbers.Code{1}}
		for _, files := range []Files{{Number: &n}, {Application: &n}} {
			_, err := files.Set(web, "grid")
			want := fmt.Sprintf("belongs to set %q of cluster %q, and set %q of cluster %q", set.Name, set.Cluster,
				web.Name, web.Cluster)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("files of %v: %v", set, err)
			}
		}
	}
}

// TestUnknownOutcome: an application without an answer is repeated as it is, with the pauses
// of the rule: five random ones below a second, and then 5 s for as long as it takes.
func TestUnknownOutcome(t *testing.T) {
	m := start(Files{})
	does(t, m, 0, askNext, Number{}, result{next: 1})
	does(t, m, 0, storeApplication, number(1, 1), result{})
	now := time.Duration(0)
	for try := 1; try <= 20; try++ {
		does(t, m, now, apply, number(1, 1), result{err: errors.New("no answer")})
		inState(t, m, Applying)
		want := jitter - 1
		if try > jitterMax {
			want = retryAfter
		}
		if s := m.step(now); s.action != wait || s.at != now+want {
			t.Fatalf("after try %d: to %v until %v, want to wait until %v", try, s.action, s.at, now+want)
		}
		now += want
	}
	does(t, m, now, apply, number(1, 1), result{})
	does(t, m, now, storeNumber, number(1, 1), result{})
	if m.err != nil {
		t.Errorf("the error stayed: %v", m.err)
	}
}

// TestRefusal: an explicit refusal alone removes the application, and the next one has
// another code. The pauses grow with the refusals.
func TestRefusal(t *testing.T) {
	m := start(Files{})
	now := time.Duration(0)
	for try := byte(1); try <= 8; try++ {
		does(t, m, now, askNext, Number{}, result{next: uint64(try)})
		n := number(uint64(try), try)
		does(t, m, now, storeApplication, n, result{})
		does(t, m, now, apply, n, result{err: numbers.ErrIDRefused})
		inState(t, m, Applying)
		does(t, m, now, removeApplication, n, result{})
		inState(t, m, Initial)
		want := now + jitter - 1
		if try > jitterMax {
			want = now + retryAfter
		}
		if s := m.step(now); s.action != wait || s.at != want {
			t.Fatalf("after refusal %d: to %v until %v, want to wait until %v", try, s.action, s.at, want)
		}
		now = want
	}
	does(t, m, now, askNext, Number{}, result{next: 9})
}

// TestRefusedFileStays: an application that cannot be removed is not forgotten, nor sent
// again.
func TestRefusedFileStays(t *testing.T) {
	three := number(3, 9)
	m := start(Files{Application: &three})
	does(t, m, 0, apply, three, result{err: numbers.ErrIDRefused})
	does(t, m, 0, removeApplication, three, result{err: errors.New("disk")})
	does(t, m, jitter, removeApplication, three, result{})
	does(t, m, 2*jitter, askNext, Number{}, result{next: 4})
}

// TestFailedWrites: what cannot be stored is stored again before anything else.
func TestFailedWrites(t *testing.T) {
	disk := result{err: errors.New("disk full")}
	m := start(Files{})
	does(t, m, 0, askNext, Number{}, result{next: 1})
	does(t, m, 0, storeApplication, number(1, 1), disk)
	inState(t, m, Initial)
	does(t, m, jitter, storeApplication, number(1, 1), result{})
	does(t, m, jitter, apply, number(1, 1), result{})
	does(t, m, jitter, storeNumber, number(1, 1), disk)
	inState(t, m, Applying)
	does(t, m, 2*jitter, storeNumber, number(1, 1), result{})
	does(t, m, 2*jitter, removeApplication, number(1, 1), disk)
	does(t, m, 3*jitter, removeApplication, number(1, 1), result{})
	does(t, m, 3*jitter, register, number(1, 1), result{incarnation: 1})
}

// TestSignOfLife: the incarnation is shown again; lost answers change nothing, an unknown
// number is registered again, and a fenced process does nothing further.
func TestSignOfLife(t *testing.T) {
	three := number(3, 9)
	m := start(Files{Number: &three})
	does(t, m, 0, register, three, result{incarnation: 2, again: time.Minute})
	if s := m.step(time.Minute); s.action != register || s.incarnation != 2 {
		t.Fatalf("a minute later the step is %+v", s)
	}
	m.done(time.Minute, result{err: errors.New("no answer")})
	inState(t, m, Registered)
	now := time.Minute + jitter
	does(t, m, now, register, three, result{incarnation: 2, again: time.Minute})
	m.ask(now)
	does(t, m, now, register, three, result{err: numbers.ErrNotRegistered})
	inState(t, m, Numbered)
	now += jitter
	if s := m.step(now); s.action != register || s.incarnation != 0 || s.number != three {
		t.Fatalf("an unknown number: the step is %+v", s)
	}
	m.done(now, result{incarnation: 5, again: time.Minute})
	now += time.Minute
	does(t, m, now, register, three, result{err: numbers.ErrFenced})
	if s := m.step(now + time.Hour); s.action != idle || !m.fenced || m.err == nil {
		t.Errorf("fenced: the step is to %v, error %v", s.action, m.err)
	}
}

// TestFencedByOwner: the answer to a request in progress does not end that.
func TestFencedByOwner(t *testing.T) {
	three := number(3, 9)
	m := start(Files{Number: &three})
	m.step(0)
	m.fence(errors.New("fenced"))
	m.done(0, result{incarnation: 2})
	if s := m.step(0); s.action != idle || m.err == nil || m.incarnation != 0 {
		t.Errorf("fenced: the step is to %v, error %v, incarnation %d", s.action, m.err, m.incarnation)
	}
}

// TestNumbersBeginAtOne: 0 is not a number.
func TestNumbersBeginAtOne(t *testing.T) {
	m := start(Files{})
	does(t, m, 0, askNext, Number{}, result{})
	does(t, m, jitter, askNext, Number{}, result{next: 1})
	does(t, m, jitter, storeApplication, number(1, 1), result{})
}
