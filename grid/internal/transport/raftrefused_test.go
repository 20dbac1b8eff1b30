package transport_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
)

// refusing is a server that now and then refuses entries that it could take.
type refusing struct {
	held    atomic.Uint64 // the last entry
	refused atomic.Int64
}

// serve answers until the transport's consumer is no longer asked.
func (r *refusing) serve(requests <-chan raft.RPC, end <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-end:
			return
		case rpc := <-requests:
			req, entries := rpc.Command.(*raft.AppendEntriesRequest)
			if !entries {
				rpc.Respond(nil, fmt.Errorf("%T is not expected", rpc.Command))
				continue
			}
			takes := req.PrevLogEntry <= r.held.Load()
			if len(req.Entries) > 0 && n%7 == 0 {
				takes = false
				r.refused.Add(1)
			}
			if k := len(req.Entries); takes && k > 0 {
				r.held.Store(req.Entries[k-1].Index)
			}
			rpc.Respond(&raft.AppendEntriesResponse{Term: req.Term, LastLog: r.held.Load(), Success: takes}, nil)
		}
	}
}

// TestRaftGoesOnAfterRefusals: a server that refuses something gets it again, and
// what follows, and the leader can be shut down (storms of seeds 109 and 111).
func TestRaftGoesOnAfterRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		n.SetDelay(2 * time.Millisecond)
		follower, other := transport.NewRaft(layer(t, n, "b", gridID, nil), addresses{}, hclog.NewNullLogger()), &refusing{}
		end := make(chan struct{})
		go other.serve(follower.Consumer(), end)
		leader := startRaftOf(t, n, "a",
			[]raft.Server{{ID: "a", Address: "a"}, {ID: "b", Address: "b", Suffrage: raft.Nonvoter}}, nil)
		within(t, 5*time.Second, "a leads", func() bool { return leader.State() == raft.Leader })
		for range 3000 {
			leader.Apply([]byte("something"), time.Second)
			time.Sleep(time.Millisecond)
		}
		if other.refused.Load() < 20 {
			t.Errorf("only %d requests were refused", other.refused.Load())
		}
		within(t, 10*time.Second, "all entries have arrived", func() bool { return other.held.Load() == leader.LastIndex() })
		down := make(chan error, 1)
		go func() { down <- leader.Shutdown().Error() }()
		select {
		case <-down:
		case <-time.After(10 * time.Second):
			t.Error("the leader does not shut down")
		}
		close(end)
		_ = follower.Close()
	})
}
