package leader

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// TestCandidacy: a voter stands when the leader's process has refused it twice, and not
// when it only is slow or answers.
func TestCandidacy(t *testing.T) {
	reset := errors.New("connection reset")
	servers := []Server{{ID: "d", Voter: true}, {ID: "c", Voter: true}, {ID: "b", Voter: true}, {ID: "a"}}
	for what, c := range map[string]struct {
		self  ServerID
		calls []error
		turn  time.Duration // voters before this one
		stand bool
	}{
		"refused":                    {"c", []error{ErrAbsent, ErrAbsent}, 0, true},
		"refused, the second voter":  {"d", []error{ErrAbsent, ErrAbsent}, 1, true},
		"streams end first":          {"c", []error{reset, reset, ErrAbsent, ErrAbsent}, 0, true},
		"answers":                    {"c", []error{nil}, 0, false},
		"answers after a refusal":    {"c", []error{ErrAbsent, nil}, 0, false},
		"breaks all streams":         {"c", []error{reset, reset, reset, reset, reset, reset, reset, reset}, 0, false},
		"refused, slow, and refused": {"c", []error{ErrAbsent, context.DeadlineExceeded, ErrAbsent, ErrAbsent}, 0, true},
	} {
		candidacy, votes := NewCandidacy(servers, c.self, "b")
		if !votes {
			t.Fatalf("%s: no voter", what)
		}
		now, next := time.Minute, Next{Call: true}
		for i, err := range c.calls {
			if now += next.Pause; !next.Call {
				t.Fatalf("%s: over after %d calls", what, i)
			}
			next = candidacy.RecordProbe(ProbeResult{Began: now, Ended: now, Err: err, Leads: true})
			if first := i == slices.IndexFunc(c.calls, func(err error) bool { return err != nil }); next.Tell != first {
				t.Errorf("%s: the other voters are told %v after call %d", what, next.Tell, i)
			}
		}
		if next.Call || next.Pause > 0 || next.Stand != c.stand {
			t.Errorf("%s: %+v", what, next)
		}
		for roundTrip, turn := range map[time.Duration]time.Duration{0: candidacyTurn,
			candidacyTurn / turnRoundTrips: candidacyTurn, time.Second: turnRoundTrips * time.Second} {
			if got, want := candidacy.Turn(roundTrip), c.turn*turn; got != want {
				t.Errorf("%s, %v to the farthest voter: stands after %v, want %v", what, roundTrip, got, want)
			}
		}
	}
	if cause := (ProbeResult{Err: ErrAbsent}).Cause(); cause != "its process has ended" {
		t.Errorf("the cause %q of a process that has ended", cause)
	}
	if cause := (ProbeResult{}).Cause(); cause != "it no longer leads, or its disk has failed" {
		t.Errorf("the cause %q of a process that no longer leads", cause)
	}
	resigned, _ := NewCandidacy(servers, "c", "b")
	for i, want := range []Next{{Pause: refusedApart, Call: true, Tell: true}, {Stand: true}} {
		began := time.Minute + time.Duration(i)*refusedApart
		if next := resigned.RecordProbe(ProbeResult{Began: began, Ended: began}); next != want {
			t.Errorf("a leader that leads no longer, call %d: %+v, want %+v", i, next, want)
		}
	}
	again, _ := NewCandidacy(servers, "c", "b") // what fails before long is told once more
	for i, c := range []struct {
		began, ended time.Duration
		want         Next
	}{
		{0, 0, Next{Pause: refusedApart, Call: true, Tell: true}},
		{0, suspectAfter/2 - 1, Next{Pause: refusedApart, Call: true}},
		{0, suspectAfter / 2, Next{Pause: refusedApart, Call: true, Tell: true}},
		{0, suspectAfter, Next{Ask: true}},
	} {
		if got := again.RecordProbe(ProbeResult{Began: time.Minute + c.began, Ended: time.Minute + c.ended,
			Err: reset}); got != c.want {
			t.Errorf("call %d: %+v, want %+v", i, got, c.want)
		}
	}
	refused, _ := NewCandidacy(servers, "d", "b")
	for i := range time.Duration(2) {
		refused.RecordProbe(ProbeResult{Began: time.Minute + i*refusedApart, Err: ErrAbsent})
	}
	for unheard, stands := range map[time.Duration]bool{time.Second: true, candidacyTurn: true, candidacyTurn - 1: false,
		0: false} {
		if got := refused.Stands(time.Minute+refusedApart+candidacyTurn, unheard, true); got != stands {
			t.Errorf("a turn after its last call it has heard nothing for %v: stands %v", unheard, got)
		}
	}
	doubted, _ := NewCandidacy(servers, "c", "b")
	doubted.Doubted()
	if next := doubted.RecordProbe(ProbeResult{Began: time.Minute, Ended: time.Minute, Err: reset}); next.Tell ||
		!next.Call {
		t.Errorf("after a doubt of another voter: %+v", next)
	}
	for _, self := range []ServerID{"a", "b", "z"} {
		if _, votes := NewCandidacy(servers, self, "b"); votes {
			t.Errorf("%s has a candidacy", self)
		}
	}
}

// TestCandidacyAgainstASilentLeader: a voter that the leader does not answer stands if a majority of
// the voters hears nothing from the leader either, and not sooner than a member is suspect.
func TestCandidacyAgainstASilentLeader(t *testing.T) {
	short, long := Contact{Unheard: suspectAfter - 1}, Contact{Unheard: suspectAfter}
	early, deaf := Contact{Unanswered: deafAfter - 1}, Contact{Unanswered: deafAfter}
	for _, c := range []struct {
		what     string
		voters   int
		contacts []Contact
		stand    bool
		despite  bool // Raft's contact
	}{
		{"no voter receives anything", 3, []Contact{long, long}, true, false},
		{"another hears it", 3, []Contact{long, short}, false, true},
		{"the other does not answer", 3, []Contact{long}, false, true},
		{"it is heard here", 3, []Contact{short, long}, false, true},
		{"a majority of five", 5, []Contact{long, long, long, short}, true, false},
		{"half of five", 5, []Contact{long, long, short, short}, false, true},
		{"the only other voter", 2, []Contact{long}, false, true},
		{"it answers no voter", 3, []Contact{deaf, deaf}, true, true},
		{"it answers another", 3, []Contact{deaf, short}, false, true},
		{"it has answered another", 3, []Contact{deaf, early}, false, true},
		{"it answers none of three in five", 5, []Contact{deaf, deaf, long, short}, true, true},
	} {
		var servers []Server
		for i := range c.voters {
			servers = append(servers, Server{ID: ServerID(rune('a' + i)), Voter: true})
		}
		candidacy, _ := NewCandidacy(servers, "b", "a")
		look := func(began, ended time.Duration) Next {
			return candidacy.RecordProbe(ProbeResult{Began: began, Ended: ended, Err: context.DeadlineExceeded})
		}
		now := time.Hour
		next := look(now, now+detectTimeout)
		if !next.Call || next.Ask || next.Stand {
			t.Fatalf("%s: after one call: %+v", c.what, next)
		}
		if early := look(now+detectTimeout, now+suspectAfter-1); early.Ask || !early.Call {
			t.Fatalf("%s: before a member is suspect: %+v", c.what, early)
		}
		if next = look(now+detectTimeout, now+suspectAfter); !next.Ask || next.Call || next.Stand {
			t.Fatalf("%s: when a member is suspect: %+v", c.what, next)
		}
		if len(candidacy.Voters()) != c.voters-1 {
			t.Errorf("%s: asks %v", c.what, candidacy.Voters())
		}
		if next = candidacy.Asked(c.contacts); next.Stand != c.stand || next.Call || next.Ask {
			t.Errorf("%s: %+v", c.what, next)
		}
		last := now + detectTimeout
		if got := candidacy.Stands(last+1, 0, true); got != c.despite || candidacy.Stands(last+1, 0, false) {
			t.Errorf("%s: stands %v while Raft reaches it", c.what, got)
		}
		if want := "answers no calls"; strings.Contains(candidacy.Reason(), want) != c.despite {
			t.Errorf("%s: stands because %s", c.what, candidacy.Reason())
		}
	}
}

// TestSilenceOfTheLeaderBefore: it makes that member suspect at the first step, and not dead, and does
// not last.
func TestSilenceOfTheLeaderBefore(t *testing.T) {
	now := time.Hour
	for _, c := range []struct {
		what    string
		silence Silence
		of      roster.Incarnation
		suspect bool
	}{
		{"silent", Silence{"a", now - suspectAfter, now, 2}, "a", true},
		{"silent for long", Silence{"a", 0, now, 9}, "a", true},
		{"silent for a moment", Silence{"a", now - suspectAfter + 1, now, 2}, "a", false},
		{"another", Silence{"a", 0, now, 2}, "b", false},
		{"a while ago", Silence{"a", 0, now - silenceLasts - 1, 2}, "a", false},
		{"one call", Silence{"a", 0, now, 1}, "a", false},
		{"missed heartbeats alone", Silence{Member: "a", Last: now}, "a", false},
		{"none", Silence{}, "a", false},
	} {
		record := c.silence.begin(c.of, now)
		for _, seen := range []bool{true, false} {
			if got := record.suspect(seen, now); got != c.suspect {
				t.Errorf("%s: suspect %v, want %v", c.what, got, c.suspect)
			}
			if record.dead(seen, now) || record.dead(seen, now+deadAfter-suspectAfter-1) {
				t.Errorf("%s: dead", c.what)
			}
		}
	}
}

// TestTwoRefusalsAtOnceProveNothing: a process may be opening its listener.
func TestTwoRefusalsAtOnceProveNothing(t *testing.T) {
	var r Refusals
	r.Note(time.Second, ErrAbsent)
	r.Note(time.Second+refusedApart-1, ErrAbsent)
	if r.Prove() {
		t.Error("two together prove")
	}
	r.Note(time.Second+refusedApart, ErrAbsent)
	if !r.Prove() {
		t.Error("two refusals prove nothing")
	}
	r.Note(time.Second+2*refusedApart, context.DeadlineExceeded)
	r.Note(time.Second+3*refusedApart, ErrAbsent)
	if r.Prove() {
		t.Error("those of before an outcome of another kind count")
	}
}
