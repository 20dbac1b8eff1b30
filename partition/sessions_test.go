package partition

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/sequencer"
)

func tenant(id, holder, name string, node sequencer.NodeID) Tenant {
	return Tenant{ID: attachmentID(id), Holder: attachment.HolderID(holder), Name: name, Node: node}
}

// lookUntil looks every half second until the given time and returns who expired, and
// at which look.
func (s *Sessions) lookUntil(from, to time.Duration) (at time.Duration, out []Tenant) {
	for now := from; now <= to; now += 500 * time.Millisecond {
		if got := s.Expired(now); len(got) > 0 {
			return now, got
		}
	}
	return 0, nil
}

func TestSessionsExpireAfterTheWindow(t *testing.T) {
	s := NewSessions(15*time.Second, 100*time.Second)
	s.Show(tenant("a", "h", "orders", 1), 100*time.Second)
	s.Show(tenant("b", "h", "orders", 2), 100*time.Second)
	if _, out := s.lookUntil(100*time.Second, 110*time.Second); out != nil {
		t.Errorf("early: %v", out)
	}
	s.Show(tenant("b", "h", "orders", 2), 110*time.Second)
	at, out := s.lookUntil(110*time.Second, 200*time.Second)
	if at != 115*time.Second || !slices.Equal(out, []Tenant{tenant("a", "h", "orders", 1)}) {
		t.Errorf("at %v: %v", at, out)
	}
	at, out = s.lookUntil(115*time.Second, 200*time.Second)
	if at != 125*time.Second || len(out) != 1 || s.Len() != 0 {
		t.Errorf("the other one at %v: %v, %d left", at, out, s.Len())
	}
}

// TestSessionsExpireInOrder: by name, then node, whatever the map's order.
func TestSessionsExpireInOrder(t *testing.T) {
	var want []Tenant
	s := NewSessions(time.Second, 0)
	for _, name := range []string{"a", "b", "c"} {
		for node := range sequencer.NodeID(20) {
			want = append(want, tenant(name+string('A'+rune(node)), "h", name, node))
		}
	}
	for i := range want {
		s.Show(want[i*7%len(want)], 0)
	}
	if got := s.Expired(time.Second); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
}

// TestSessionsWaitForTheOwner: while the owner did not run no holder could show itself, so
// none is late by that; up to a second between two checks is normal.
func TestSessionsWaitForTheOwner(t *testing.T) {
	for _, c := range []struct{ gap, want time.Duration }{
		{time.Second, 15 * time.Second},
		{time.Second + 1, 16*time.Second + 1},
		{time.Hour, time.Hour + 15*time.Second},
	} {
		s := NewSessions(15*time.Second, 0)
		s.Show(tenant("a", "h", "orders", 1), 0)
		s.Show(tenant("", "w", "orders", 0), 0)
		s.Expired(c.gap)
		for now := c.gap; now < c.want; now += 500 * time.Millisecond {
			if out := s.Expired(now); out != nil {
				t.Errorf("gap %v: expired at %v", c.gap, now)
			}
		}
		if out := s.Expired(c.want); len(out) != 1 || s.Len() != 0 {
			t.Errorf("gap %v: %v expired at %v, %d left", c.gap, out, c.want, s.Len())
		}
	}
	s := NewSessions(15*time.Second, 0)
	s.Show(tenant("a", "h", "orders", 1), 0)
	s.Show(tenant("b", "h", "orders", 2), time.Hour) // showing is running, too
	if out := s.Expired(time.Hour + time.Second); out != nil {
		t.Errorf("%v expired", out)
	}
}

// TestSessionsWatchers: who has a handle and no node hears of the name, and is
// forgotten in silence.
func TestSessionsWatchers(t *testing.T) {
	s := NewSessions(10*time.Second, 0)
	s.Show(tenant("", "w", "orders", 0), 0)
	s.Show(tenant("", "w", "bills", 0), 0)
	s.Show(tenant("", "v", "orders", 0), 0)
	s.Show(tenant("a", "h", "orders", 1), 0)
	s.Show(tenant("b", "h", "orders", 2), 0)
	s.Show(tenant("c", "", "orders", 3), 0) // inherited
	if got := s.Holders("orders"); !slices.Equal(got, []attachment.HolderID{"h", "v", "w"}) || s.Len() != 6 {
		t.Errorf("%v of %d", got, s.Len())
	}
	if got := s.Holders("none"); len(got) != 0 {
		t.Errorf("%v", got)
	}
	s.Drop("orders", attachmentID("a"))
	s.Drop("orders", attachmentID("a"))
	s.Drop("bills", attachmentID("b"))
	s.Drop("orders", attachment.ID{})
	s.Show(tenant("c", "g", "orders", 3), 0)
	if got := s.Holders("orders"); !slices.Equal(got, []attachment.HolderID{"g", "h", "v", "w"}) {
		t.Errorf("%v", got)
	}
	_, out := s.lookUntil(0, 20*time.Second)
	if !slices.Equal(out, []Tenant{tenant("b", "h", "orders", 2), tenant("c", "g", "orders", 3)}) || s.Len() != 0 {
		t.Errorf("%v, %d left", out, s.Len())
	}
}

// TestConfirm: a holder's set is identified by its whole content, and extends all its
// sessions together; a different set extends none.
func TestConfirm(t *testing.T) {
	life := attachment.Life{1}
	a := attachment.Attachment{ID: attachmentID("a"), Node: 1, Grant: attachment.Grant{From: 100, Until: 200}}
	b := attachment.Attachment{ID: attachmentID("b"), Node: 2, Grant: attachment.Grant{From: 300, Until: 400}}
	show := func(s *Sessions, name string, a attachment.Attachment) {
		s.Show(Tenant{ID: a.ID, Holder: "h", Name: name, Node: a.Node, Print: attachment.FingerprintOf(life, a)}, 0)
	}
	later, elsewhere := a, a
	later.Grant.From++
	elsewhere.Node++
	longer := a
	longer.Grant.Until++
	for what, c := range map[string]struct {
		shown []attachment.Attachment
		life  attachment.Life
		known bool
	}{
		"all":                {[]attachment.Attachment{a, b, {}}, life, true},
		"in another order":   {[]attachment.Attachment{{}, b, a}, life, true},
		"until another tick": {[]attachment.Attachment{longer, b, {}}, life, true},
		"one less":           {[]attachment.Attachment{a, b}, life, false},
		"one twice":          {[]attachment.Attachment{a, b, {}, a, a}, life, false},
		"the same number":    {[]attachment.Attachment{a, a, a}, life, false},
		"from another tick":  {[]attachment.Attachment{later, b, {}}, life, false},
		"another node":       {[]attachment.Attachment{elsewhere, b, {}}, life, false},
		"another life":       {[]attachment.Attachment{a, b, {}}, attachment.Life{2}, false},
		"nothing":            {nil, life, false},
		"from the next, both": {[]attachment.Attachment{later, {ID: b.ID, Node: 2, Grant: attachment.Grant{From: 301}}, {}},
			life, false},
		"grants changed places": {[]attachment.Attachment{{ID: a.ID, Node: 1, Grant: b.Grant},
			{ID: b.ID, Node: 2, Grant: a.Grant}, {}}, life, false},
	} {
		s := NewSessions(15*time.Second, 0)
		show(s, "x", attachment.Attachment{}) // Detached, before it was attached
		show(s, "x", a)
		show(s, "y", b)
		show(s, "z", attachment.Attachment{})
		s.Show(tenant("o", "other", "x", 7), 0)
		s.Show(tenant("i", "", "x", 8), 0)
		var print attachment.Fingerprint
		for _, a := range c.shown {
			print = print.With(attachment.FingerprintOf(c.life, a))
		}
		s.lookUntil(0, 10*time.Second)
		if got := s.Confirm("h", ClaimSet{Count: len(c.shown), Print: print}, 900, 10*time.Second); got != c.known {
			t.Errorf("%s: known %v, want %v", what, got, c.known)
		}
		want, at := 5, 15*time.Second
		if c.known {
			want = 2
		}
		if got, out := s.lookUntil(10*time.Second, 20*time.Second); got != at || 5-s.Len() != want {
			t.Errorf("%s: at %v %d ended (%v), want %d at %v", what, got, 5-s.Len(), out, want, at)
		}
		if _, out := s.lookUntil(20*time.Second, 30*time.Second); c.known && (len(out) != 2 || out[0].Until != 900) {
			t.Errorf("%s: then %v ended", what, out)
		}
		if s.Confirm("", ClaimSet{Count: 1, Print: attachment.FingerprintOf(life, attachment.Attachment{})}, 900,
			30*time.Second) {
			t.Error("a set that was never shown is confirmed")
		}
	}
}

// TestSessionsUnderALimit: a holder under a limit confirms a set only of attachments that it has shown
// under that limit. One without a limit confirms anything, and a Detached handle changes nothing.
func TestSessionsUnderALimit(t *testing.T) {
	var life attachment.Life
	s := NewSessions(15*time.Second, 0)
	names := []string{"x", "y"}
	of := func(name string) attachment.Attachment {
		return attachment.Attachment{ID: attachment.ID{name[0]}, Node: sequencer.NodeID(name[0])}
	}
	show := func(name string, limit Limit) {
		a := of(name)
		s.Show(Tenant{ID: a.ID, Holder: "h", Name: name, Node: a.Node, Print: attachment.FingerprintOf(life, a),
			Limit: limit}, 0)
	}
	confirm := func(limit Limit) bool {
		var print attachment.Fingerprint
		for _, name := range names {
			print = print.With(attachment.FingerprintOf(life, of(name)))
		}
		return s.Confirm("h", ClaimSet{Count: len(names), Print: print, Limit: limit}, 900, 0)
	}
	for i, step := range []struct {
		do         func()
		under      Limit
		confirmed  bool
		everything bool // by a holder without a limit
	}{
		{func() { show("x", 1) }, 1, false, false}, // not all of it
		{func() { show("y", 1) }, 1, true, true},
		{func() {}, 2, false, true},
		{func() { show("x", 2) }, 2, false, true}, // y was shown under another
		{func() {}, 1, false, true},
		{func() { show("x", 2) }, 2, false, true}, // x twice is not y
		{func() { show("y", 2) }, 2, true, true},
		{func() { show("x", 1) }, 1, false, true},
		{func() { show("y", 1) }, 1, true, true},
		{func() { show("y", 0) }, 1, false, true},
		{func() { show("x", 1) }, 1, false, true},
		{func() { show("y", 1) }, 1, true, true},
	} {
		step.do()
		if got := confirm(step.under); got != step.confirmed {
			t.Errorf("step %d: under %d confirmed: %v", i, step.under, got)
		}
		if got := confirm(0); got != step.everything {
			t.Errorf("step %d: without a limit confirmed: %v", i, got)
		}
	}
	if got := s.LimitOf("h"); got != 1 {
		t.Errorf("the limit is %d", got)
	}
}
