package overload_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/security"
)

var (
	together = flag.Int("together", 64, "clients of a process that start at the same time")
	holders  = flag.Int("holders", 200, "holders of TestSpinningHolders, each a client with one handle")
	spinning = flag.Int("spinning", 60, "goroutines that spin beside them")
	spinFor  = flag.Duration("spin-for", 3*time.Second, "how long they do")
	secure   = flag.Bool("secure", false, "with security on: mutual TLS and a gossip key")
	window   = flag.Duration("window", 6*time.Second, "how far grants reach ahead")
	within   = flag.Int("within", 20,
		"windows after the end within which all handles have to issue IDs; 1 on a machine that does nothing else")
)

// TestSpinningHolders runs members and holders in one process on one processor, in memory, and
// for a while many goroutines that do nothing but take its time.
func TestSpinningHolders(t *testing.T) {
	long.NotShort(t, "it keeps a processor busy for ten seconds")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(4 << 30))
	network := gridtest.NewNetwork()
	u := &users{secured: credentials(t)}
	addrs := startMembers(t, network, u.secured)
	u.add(t, *holders, addrs,
		func(i int) dialer { return network.Host(fmt.Sprint("h", i)).Dial },
		func(i int) []string { return []string{fmt.Sprint("n", i%1000)} })
	time.Sleep(*window / 4)
	before := u.watch(t, "calm", *window/2, *window/2)

	var over atomic.Bool
	var all sync.WaitGroup
	for range *spinning {
		all.Go(func() {
			for !over.Load() {
			}
		})
	}
	u.watch(t, "overload", *spinFor, 5*time.Second)
	over.Store(true)
	all.Wait()
	ended := u.state()
	took := u.awaitAll(t, time.Duration(*within)*(*window))
	after := u.watch(t, "after", *window/2, *window/2)

	t.Logf("all %d handles issue IDs %v after the end; %d dials meanwhile", len(u.handles), took, after.dials-before.dials)
	// A holder has one connection to each of three members, and a member that does not answer is dialed again.
	if n := after.dials - before.dials; n > int64(9*len(u.handles)) {
		t.Errorf("%d dials of %d holders during the overload and after it", n, len(u.handles))
	}
	// A goroutine reads each end of a connection, and few are the holder's own. That they end is seen
	// afterwards.
	if n, most := ended.goroutines, 20*len(u.handles)+1000; n > most {
		t.Errorf("%d goroutines at the end of the overload, want at most %d", n, most)
	}
	if n := after.goroutines; n > 2*before.goroutines+1000 {
		t.Errorf("%d goroutines after the overload, %d before", n, before.goroutines)
	}
}

// credentials makes a directory with certificates of every role and a gossip key, if the flag
// asks for it.
func credentials(t *testing.T) (dir string) {
	t.Helper()
	if !*secure {
		return ""
	}
	dir = filepath.Join(t.TempDir(), "security")
	if err := authority.Create(dir, authority.Options{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// startMembers forms a grid of three with one backup of everything, and returns the addresses
// of its API.
func startMembers(t *testing.T, network *gridtest.Network, secured string) (addrs []string) {
	t.Helper()
	names := []string{"m1", "m2", "m3"}
	var all sync.WaitGroup
	for _, name := range names {
		cfg := grid.Config{
			GossipAddr: name + ":7946", RaftAddr: name + ":7947", APIAddr: name + ":7948", Join: []string{"m1:7946", "m2:7946"},
			Expect: len(names), Backups: 1, FirstLife: true, Window: *window, Network: network.Host(name),
			Security: &security.Config{Dir: secured, Insecure: secured == ""},
		}
		addrs = append(addrs, name+":7948")
		all.Go(func() {
			m, err := grid.Start(t.Context(), cfg)
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { _ = m.Close() })
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return addrs
}
