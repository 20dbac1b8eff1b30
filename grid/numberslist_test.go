package grid

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestNoListAfterTheLead: a lead that ends while a set is listed leaves no list without processes, which an export
// would store.
func TestNoListAfterTheLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startAlone(t)
		o := m.leadership
		apply := wire.IdentityApplyRequest{Cluster: "shop", Name: "web", ID: 1, Code: numbers.Code{1}}
		if _, err := o.applyForNumber(t.Context(), apply); err != nil {
			t.Fatal(err)
		}
		list := wire.IdentityListRequest{Cluster: "shop", Name: "web"}
		if out, err := o.listNumbers(t.Context(), list); err != nil || len(out.Sets) != 1 || len(out.Sets[0].Members) != 1 {
			t.Fatalf("the list is %+v, %v", out, err)
		}
		l := o.current.Load()
		l.mu.Lock()
		l.machine = nil // as at the end of a lead
		l.mu.Unlock()
		if out, err := o.listNumbers(t.Context(), list); !errors.Is(err, refusal.ErrNotLeader) {
			t.Errorf("after the lead the list is %+v, %v", out, err)
		}
		time.Sleep(time.Second)
	})
}
