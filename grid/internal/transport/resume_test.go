package transport_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
)

// leadsBesideB returns a server that leads in term 3 until the test ends, and its network. The other server, b, does
// not run.
func leadsBesideB(t *testing.T) (*gridtest.Network, *transport.GuardedRaft) {
	n := gridtest.NewNetwork()
	leader := transport.GuardRaft(transport.NewRaft(layer(t, n, "a", gridID, nil), addresses{}, hclog.NewNullLogger()),
		func(err error) { t.Error(err) })
	t.Cleanup(func() { _ = leader.Close() })
	leader.BeginLead(transport.Lead{Term: 3, Knows: "b"})
	return n, leader
}

// TestEntriesWaitForAHeartbeat: entries for a server that does not answer are sent again when it answers a heartbeat.
// They are given up when the transport closes, when another term has begun, and when the server is no longer known.
func TestEntriesWaitForAHeartbeat(t *testing.T) {
	for _, test := range []struct {
		ends  string
		lead  transport.Lead
		again bool
	}{
		{"", transport.Lead{Term: 3, Knows: "b"}, true},
		{"the transport closes", transport.Lead{Term: 3, Knows: "b"}, false},
		{"the server is removed", transport.Lead{Term: 3}, false},
		{"another term begins", transport.Lead{Term: 4, Knows: "b"}, false},
		{"another server leads", transport.Lead{Term: 3, Knows: "b", Other: true}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			n, leader := leadsBesideB(t)
			sent := make(chan error, 1)
			go func() {
				sent <- leader.AppendEntries("b", dialTo("b"), &raft.AppendEntriesRequest{Term: 3, PrevLogEntry: 7, PrevLogTerm: 2},
					&raft.AppendEntriesResponse{})
			}()
			time.Sleep(time.Hour)
			if len(sent) > 0 {
				t.Fatalf("%q: given up after an hour: %v", test.ends, <-sent)
			}
			leader.BeginLead(test.lead)
			if test.ends == "the transport closes" {
				_ = leader.Close()
			}
			if test.again {
				server := transport.NewRaft(layer(t, n, "b", gridID, nil), addresses{}, hclog.NewNullLogger())
				end := make(chan struct{})
				defer func() { _ = server.Close(); close(end) }()
				go func() {
					for {
						select {
						case <-end:
							return
						case rpc := <-server.Consumer():
							rpc.Respond(&raft.AppendEntriesResponse{Term: 3, Success: true}, nil)
						}
					}
				}()
				time.Sleep(time.Minute)
				if len(sent) > 0 {
					t.Fatalf("sent again without a heartbeat: %v", <-sent)
				}
				if err := leader.AppendEntries("b", dialTo("b"), &raft.AppendEntriesRequest{Term: 3},
					&raft.AppendEntriesResponse{}); err != nil {
					t.Fatalf("a heartbeat: %v", err)
				}
			}
			select {
			case err := <-sent:
				if (err == nil) != test.again {
					t.Errorf("%q: %v", test.ends, err)
				}
			case <-time.After(2 * time.Second):
				t.Errorf("%q: waits for more than 2 s", test.ends)
				leader.BeginLead(transport.Lead{})
			}
		})
	}
}

// TestHeartbeatDoesNotWait: a heartbeat that fails is Raft's matter.
func TestHeartbeatDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, leader := leadsBesideB(t)
		sent := make(chan error, 1)
		go func() {
			sent <- leader.AppendEntries("b", dialTo("b"), &raft.AppendEntriesRequest{Term: 3}, &raft.AppendEntriesResponse{})
		}()
		time.Sleep(time.Minute)
		if len(sent) == 0 {
			t.Error("a heartbeat waits")
			leader.BeginLead(transport.Lead{})
		}
		if err := <-sent; err == nil {
			t.Error("a server that does not run has answered")
		}
	})
}
