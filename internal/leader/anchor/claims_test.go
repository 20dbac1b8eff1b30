package anchor

import (
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// TestRegisteredUnderAClaimAlone: a leader that is a member of a roster without a claim has not taken the
// record: an anchor that is switched on protects from its first take on (A3).
func TestRegisteredUnderAClaimAlone(t *testing.T) {
	a := Authority{Self: self(1)}
	r := &roster.Roster{Grid: roster.GridID{7}, Members: []roster.Member{{Incarnation: self(1)}}}
	if a.Registered(r) {
		t.Error("registered before the first claim")
	}
	if r.Claim = claim(1); !a.Registered(r) {
		t.Error("not registered under a claim")
	}
	a.Self = self(2)
	if a.Registered(r) {
		t.Error("another process is registered")
	}
}

// TestLimitOfAnEarlierClaim: a limit that was seen under the claim before does not count (A1).
func TestLimitOfAnEarlierClaim(t *testing.T) {
	a := Authority{Self: self(1)}
	r := &roster.Roster{Grid: roster.GridID{7}, Claim: claim(1), Members: []roster.Member{{Incarnation: self(1)}}}
	a.Saw(r, Record{Claim: claim(1), Ceiling: began + 1000})
	r.Claim = claim(2)
	a.Saw(r, Record{Claim: claim(2), Ceiling: began + 10})
	if got := a.Limit(r); got != began+10 {
		t.Errorf("the limit is %d above the beginning, want 10", got-began)
	}
}

// TestReadAfterARefusal: after a swap that was refused the record is read before another swap.
func TestReadAfterARefusal(t *testing.T) {
	d := newDesk(t)
	d.step(0)
	refused := false
	d.fail = func(s Step) error {
		if s.Swap != nil && !refused {
			refused = true
			return ErrRefused
		}
		if s.Swap != nil {
			t.Errorf("another swap without a read: %+v", s.Swap)
		}
		d.fail = nil
		return nil
	}
	for n := range 60 {
		d.raise(began.Add(1000).Add(clustertime.Span(1000 * n)))
		d.step(time.Second)
	}
	if !refused || d.fail != nil {
		t.Errorf("refused %v, read after it %v", refused, d.fail == nil)
	}
}
