package grid_test

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/grid/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// pretender is a process that calls members as if it were one of them. All that it
// needs is in any member's status.
type pretender struct {
	t    *testing.T
	g    *gridtest.Grid
	http *client.HTTP
}

func pretenderIn(t *testing.T, g *gridtest.Grid) pretender {
	t.Helper()
	h := client.NewHTTP(g.Network.Host("evil").Dial, nil)
	t.Cleanup(h.Close)
	return pretender{t, g, h}
}

// incarnation returns what a member is called.
func (p pretender) incarnation(name string) partition.Incarnation {
	return partition.Incarnation(p.g.Member(name).Status().Answering)
}

// call calls a member by all that its status tells.
func (p pretender) call(name, path string, in, out any) error {
	p.t.Helper()
	m := p.g.Member(name)
	header := http.Header{}
	header.Set(wire.HeaderTarget, m.Status().Answering)
	header.Set(wire.HeaderGrid, m.Status().Grid.String())
	ctx, cancel := context.WithTimeout(p.t.Context(), 5*time.Second)
	defer cancel()
	return p.http.CallWith(ctx, m.Addrs().API, path, header, in, out)
}

// durable starts three members with a disk.
func durable(t *testing.T) *gridtest.Grid {
	return gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
}

// TestForgedTermsOfPartitionsEndNothing: tables of terms that the roster does not name,
// sent to every member for every partition, end no owner and become no copy.
func TestForgedTermsOfPartitionsEndNothing(t *testing.T) {
	for _, what := range []string{"the last", "the next", "the version"} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := durable(t)
				ids := issueFrom(t, g, "web", "orders")
				ids.during(time.Second, "before")
				s := g.Member("m1").Status()
				term := map[string]partition.Term{
					"the last": math.MaxUint64, "the next": partition.Term(s.Version) + 1, "the version": partition.Term(s.Version),
				}[what]
				evil := pretenderIn(t, g)
				for id, p := range s.Partitions {
					if p.Term == term {
						continue
					}
					for _, name := range g.Running() {
						go func() { // it may be kept waiting
							_ = evil.call(name, wire.PathReplicate, wire.ReplicateRequest{
								Partition: partition.ID(id), Version: partition.Version(term), Position: backup.Position{Term: term, Number: 1 << 40},
								Pages: 1, Table: &wire.Table{},
							}, &wire.ReplicateResponse{})
						}()
					}
				}
				ids.during(30*time.Second, "after the forged tables")
				for i := range 20 {
					if _, err := g.Client("web").CreateSequencer(t.Context(), fmt.Sprintf("new-%d", i), sequencer.Config{}); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}
