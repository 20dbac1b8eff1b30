package tenure_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/snowgrid/snowgrid/grid/internal/tenure"
)

// TestEndWaitsForWorkOfTheTenure: End cancels the work, waits for it and for the work that
// it begins, and leaves other work of the life alone.
func TestEndWaitsForWorkOfTheTenure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		life := tenure.NewLife()
		first := life.Tenure()
		ended, last, outside := false, false, false
		life.Go(func() { <-life.Context().Done(); outside = true })
		life.Background(func(ctx context.Context) {
			<-ctx.Done()
			life.Background(func(context.Context) { last = true })
			ended = true
		})
		first.End()
		if !ended || !last || outside {
			t.Errorf("after the end: work ended %v, the work it began %v, the life's %v", ended, last, outside)
		}
		life.Next()
		if life.Tenure() == first {
			t.Error("the next tenure is the first one")
		}
		late := make(chan error, 1)
		first.Background(func(ctx context.Context) { late <- ctx.Err() })
		if err := <-late; err == nil {
			t.Error("work that begins after the end has a live context")
		}
		life.Close()
		life.Stop()
		life.Wait()
		if life.Go(func() { t.Error("a closed life begins work") }) {
			t.Error("a closed life says that work begins")
		}
		life.Background(func(context.Context) { t.Error("a closed life begins work of a tenure") })
	})
}

// TestRequestsOfAnotherTenure: a request counts in the tenure in which it arrived alone.
func TestRequestsOfAnotherTenure(t *testing.T) {
	life := tenure.NewLife()
	first := life.Tenure()
	ctx := tenure.NewContext(t.Context(), first)
	life.Next()
	if !life.Tenure().Elsewhere(ctx) || first.Elsewhere(ctx) || first.Elsewhere(t.Context()) {
		t.Error("a request counts elsewhere, or not where it arrived")
	}
}
