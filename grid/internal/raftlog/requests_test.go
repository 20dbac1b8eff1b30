package raftlog_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// busy is a machine whose Apply needs its turn.
type busy struct {
	machine
	turn chan struct{}
}

func (b busy) Apply(*raft.Log) any {
	b.turn <- struct{}{}
	<-b.turn
	return nil
}

// startBusy starts a leader whose machine is applying a command, and does not end it before release
// is called.
func startBusy(t *testing.T) (node *raftlog.Node, release func()) {
	t.Helper()
	_, trans := raft.NewInmemTransport("a")
	_, other := raft.NewInmemTransport("b")
	trans.Connect("b", other)
	store, fsm := raft.NewInmemStore(), busy{turn: make(chan struct{}, 1)}
	servers := []raft.Server{{ID: "a", Address: "a"}, {ID: "b", Address: "b", Suffrage: raft.Nonvoter}}
	snaps := raft.NewInmemSnapshotStore()
	if err := raft.BootstrapCluster(raftConfig("a"), store, store, snaps, trans,
		raft.Configuration{Servers: servers}); err != nil {
		t.Fatal(err)
	}
	inRaft, err := raft.NewRaft(raftConfig("a"), fsm, store, store, snaps, trans)
	if err != nil {
		t.Fatal(err)
	}
	<-inRaft.LeaderCh()
	if err := inRaft.Barrier(0).Error(); err != nil {
		t.Fatal(err)
	}
	fsm.turn <- struct{}{}
	inRaft.Apply([]byte("x"), 0)
	synctest.Wait()
	return &raftlog.Node{Raft: inRaft, Server: "a"}, func() { <-fsm.turn }
}

// requests are the requests of Raft that a node makes.
var requests = map[string]func(*raftlog.Node) error{
	"propose":     func(n *raftlog.Node) error { return n.Propose(roster.Command{}) },
	"barrier":     (*raftlog.Node).Barrier,
	"confirm":     (*raftlog.Node).Confirm,
	"pass lead":   func(n *raftlog.Node) error { return n.PassLead("b") },
	"snapshot":    raftlog.Snapshot,
	"reconfigure": func(n *raftlog.Node) error { return n.Reconfigure(leader.Remove, "b", "") },
}

// TestRequestsEndWithTheNode: every request returns when the node ends while Raft has not answered
// it. Raft's own choice between a request and its end is random.
func TestRequestsEndWithTheNode(t *testing.T) {
	for name, request := range requests {
		t.Run(name, func(t *testing.T) {
			for range 8 {
				synctest.Test(t, func(t *testing.T) {
					node, release := startBusy(t)
					returned, ended := make(chan error, 1), make(chan error, 1)
					go func() { returned <- request(node) }()
					synctest.Wait()
					go func() { ended <- node.Stop().Error() }()
					time.Sleep(time.Millisecond)
					release()
					<-returned
					if err := <-ended; err != nil {
						t.Error(err)
					}
					if err := request(node); err == nil {
						t.Error("a request after the end succeeds")
					}
				})
			}
		})
	}
}

// unanswered is a future that has no result before it is closed.
type unanswered chan struct{}

func (u unanswered) Error() error { <-u; return nil }

// TestRequestWithoutAnswerEnds: a request that Raft does not answer, as with a disk that is silent,
// ends with the node, and does not hold it.
func TestRequestWithoutAnswerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, release := startBusy(t)
		release()
		future, returned := make(unanswered), make(chan error, 1)
		go func() { returned <- raftlog.Await(node, func() raft.Future { return future }) }()
		synctest.Wait()
		began := time.Now()
		if err := node.Stop().Error(); err != nil {
			t.Error(err)
		}
		if took, err := time.Since(began), <-returned; took > 4*time.Second || !errors.Is(err, raft.ErrRaftShutdown) {
			t.Errorf("%v after %v", err, took)
		}
		close(future)
	})
}

// TestRequestDoesNotOutliveItsDisk: Raft answers nothing after a failed write, and the node ends without waiting.
func TestRequestDoesNotOutliveItsDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, release := startBusy(t)
		release()
		broken := make(chan struct{})
		raftlog.SetBroken(node, broken)
		future, returned := make(unanswered), make(chan error, 1)
		go func() { returned <- raftlog.Await(node, func() raft.Future { return future }) }()
		synctest.Wait()
		close(broken)
		if err := node.Barrier(); !errors.Is(err, raft.ErrRaftShutdown) {
			t.Errorf("a request after a failed write: %v", err)
		}
		began, ended := time.Now(), make(chan error, 1)
		go func() { ended <- node.Stop().Error() }()
		if err, took := <-returned, time.Since(began); took > 0 || !errors.Is(err, raft.ErrRaftShutdown) {
			t.Errorf("%v after %v", err, took)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		close(future)
	})
}

// TestStopsAtTheSameTime: while one caller of Stop waits for a request in progress another may call
// it, too, and the clock of a bubble advances meanwhile.
func TestStopsAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, release := startBusy(t)
		release()
		future, returned := make(unanswered), make(chan error, 1)
		go func() { returned <- raftlog.Await(node, func() raft.Future { return future }) }()
		synctest.Wait()
		ended := make(chan error, 2)
		for range 2 {
			go func() { ended <- node.Stop().Error() }()
		}
		if one, two := <-ended, <-ended; one != nil || two != nil {
			t.Error(one, two)
		}
		<-returned
		close(future)
	})
}

// TestFuturesAreAwaitedInOnePlace: no other file than requests.go starts a request of Raft.
func TestFuturesAreAwaitedInOnePlace(t *testing.T) {
	request := regexp.MustCompile(
		`[rR]aft\.(Apply|ApplyLog|Barrier|VerifyLeader|AddVoter|AddNonvoter|RemoveServer|DemoteVoter|LeadershipTransfer\w*|Snapshot|Restore)\(`)
	found := 0
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(text), "\n") {
			switch {
			case !request.MatchString(line):
			case filepath.Base(path) == "requests.go":
				found++
			default:
				t.Errorf("%s:%d: %s; a future is awaited by Node.await alone", path, i+1, strings.TrimSpace(line))
			}
		}
		return nil
	})
	if err != nil || found < 6 {
		t.Errorf("%d requests found: %v", found, err)
	}
}
