package leader

import (
	"context"
	"testing"
	"time"
)

// TestMonitorOfTheLeader: an answered look counts like a heartbeat, of the leader that answered alone.
func TestMonitorOfTheLeader(t *testing.T) {
	const ended, now = time.Hour, time.Hour + time.Second
	answered := ProbeResult{Began: ended - time.Second, Ended: ended, Leads: true}
	for _, c := range []struct {
		what   string
		look   ProbeResult
		from   ServerID
		byRaft time.Duration
		want   time.Duration
	}{
		{"answered", answered, "a", time.Minute, time.Second},
		{"a heartbeat since", answered, "a", time.Millisecond, time.Millisecond},
		{"another leader", answered, "b", time.Minute, time.Minute},
		{"no leader", answered, "", time.Minute, time.Minute},
		{"no answer", ProbeResult{Began: ended, Ended: ended, Err: context.DeadlineExceeded}, "a", time.Minute, time.Minute},
		{"it leads no longer", ProbeResult{Began: ended, Ended: ended}, "a", time.Minute, time.Minute},
	} {
		var w Monitor
		w.RecordProbe("a", c.look)
		if got := w.SilentFor(c.from, now, c.byRaft); got != c.want {
			t.Errorf("%s: unheard for %v, want %v", c.what, got, c.want)
		}
	}
	if got := new(Monitor).SilentFor("", now, time.Minute); got != time.Minute {
		t.Errorf("a watch that has seen nothing: unheard for %v", got)
	}
}

// TestMonitorOfUnansweredCalls: their time counts from the first one in a row, and ends with an answer, whichever
// call it is to, or if this member has made no calls for a while.
func TestMonitorOfUnansweredCalls(t *testing.T) {
	const s = time.Second
	failed := func(at time.Duration) ProbeResult {
		return ProbeResult{Began: at, Ended: at + s, Err: context.DeadlineExceeded}
	}
	answered := func(at time.Duration) ProbeResult { return ProbeResult{Began: at, Ended: at + s, Leads: true} }
	for _, c := range []struct {
		what  string
		calls []ProbeResult
		of    ServerID
		now   time.Duration
		want  time.Duration
	}{
		{"none", nil, "a", 9 * s, 0},
		{"one", []ProbeResult{failed(s)}, "a", 2 * s, s},
		{"three", []ProbeResult{failed(s), failed(2 * s), failed(3 * s)}, "a", 4 * s, 3 * s},
		{"an answer after them", []ProbeResult{failed(s), failed(2 * s), answered(3 * s)}, "a", 4 * s, 0},
		{"one after an answer", []ProbeResult{failed(s), answered(2 * s), failed(4 * s)}, "a", 5 * s, s},
		{"one of before an answer", []ProbeResult{answered(2 * s), failed(2*s - 1)}, "a", 3 * s, 0},
		{"no calls for a while", []ProbeResult{failed(s), failed(2*s + standstill + 1)}, "a", 4*s + standstill, s},
		{"no call since", []ProbeResult{failed(s)}, "a", 2*s + standstill + 1, 0},
		{"another leader", []ProbeResult{failed(s)}, "b", 2 * s, 0},
		{"no leader", []ProbeResult{failed(s)}, "", 2 * s, 0},
	} {
		var w Monitor
		for _, call := range c.calls {
			w.RecordProbe("a", call)
		}
		if got := w.UnansweredFor(c.of, c.now); got != c.want {
			t.Errorf("%s: unanswered for %v, want %v", c.what, got, c.want)
		}
	}
	var w Monitor
	w.RecordProbe("a", answered(s))
	if !w.AnsweredSince("a", 2*s) || w.AnsweredSince("a", 2*s+1) || w.AnsweredSince("b", s) {
		t.Error("an answer of 2 s counts at another time, or for another leader")
	}
}

// TestMonitorHandsSilenceToTheNextLead: once, with its calls; missed heartbeats have none.
func TestMonitorHandsSilenceToTheNextLead(t *testing.T) {
	const election = time.Second
	var w Monitor
	silence := Silence{"a", time.Hour, time.Hour + 1, 2}
	w.RecordSilence(silence)
	if got := w.TakeSilence("a", time.Minute, election); got != silence {
		t.Errorf("silence %+v, want %+v", got, silence)
	}
	if got := w.TakeSilence("a", 0, election); got != (Silence{}) {
		t.Errorf("a second time: silence %+v", got)
	}
	w.RecordSilence(silence)
	if got, want := w.TakeSilence("b", time.Minute, election), (Silence{Member: "b"}); got != want {
		t.Errorf("another has led since then: silence %+v, want %+v", got, want)
	}
	for byRaft, want := range map[time.Duration]Silence{election - 1: {}, election: {Member: "b"}} {
		if got := w.TakeSilence("b", byRaft, election); got != want {
			t.Errorf("without a heartbeat for %v: %+v, want %+v", byRaft, got, want)
		}
	}
}
