package gridtest_test

import (
	"github.com/snowgrid/snowgrid/internal/long"
	"testing"
	"testing/synctest"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestSecuredGrid: members and clients with certificates of the grid's authority issue IDs; a
// client without certificate, and one of another authority, get none.
func TestSecuredGrid(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Secured: true})
		orders, err := g.Client("web").CreateSequencer(t.Context(), "orders", sequencer.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := orders.Next(t.Context()); err != nil {
			t.Error(err)
		}
		other := gridtest.New(t, gridtest.Config{Secured: true})
		for who, conf := range map[string]*security.Config{"without": nil, "foreign": other.Credentials(security.Holder)} {
			if _, err := g.TryClient(who, conf); err == nil {
				t.Errorf("a client %s a certificate is served", who)
			} else {
				t.Log(err)
			}
		}
	})
}
