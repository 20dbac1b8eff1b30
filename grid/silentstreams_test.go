package grid_test

import (
	"context"
	"github.com/snowgrid/snowgrid/internal/long"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// TestSilentStreamsDisplaceNoMember: while two machines without a certificate keep more silent streams
// open at every port than a member takes, the leader leads, IDs are issued, and a member that
// is started again joins.
func TestSilentStreamsDisplaceNoMember(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Secured: true})
		honest := g.Client("honest")
		firstID(t, honest, "before", time.Minute)
		leader := g.Leader()
		again := "m1"
		if leader == again {
			again = "m2"
		}
		var ports []string
		for _, name := range g.Running() {
			at := g.Member(name).Addrs()
			ports = append(ports, at.Gossip, at.Raft, at.API)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for _, from := range []string{"evil1", "evil2"} {
			for _, port := range ports {
				for range 100 {
					all.Go(func() { staySilent(ctx, g.Network.Host(from), port) })
				}
			}
		}
		time.Sleep(3 * time.Second)
		g.Crash(again)
		time.Sleep(10 * time.Second)
		began := time.Now()
		g.StartMembers(again)
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("%s joined after %v", again, took)
		}
		firstID(t, honest, "meanwhile", 5*time.Second)
		if now := g.Leader(); now != leader {
			t.Errorf("%s leads, and %s did", now, leader)
		}
		cancel()
		all.Wait()
	})
}

// staySilent keeps a stream to a port open, and opens another when it ends.
func staySilent(ctx context.Context, from *gridtest.Host, port string) {
	for ctx.Err() == nil {
		conn, err := from.Dial(ctx, port)
		if err == nil {
			end := context.AfterFunc(ctx, func() { _ = conn.Close() })
			_, _ = io.Copy(io.Discard, conn)
			end()
			_ = conn.Close()
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}
