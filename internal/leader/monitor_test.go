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
