package grid_test

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/internal/dnstest"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/loopback"
)

// namedSockets are the sockets of this machine with the names of a DNS server.
type namedSockets struct {
	transport.Sockets
	*net.Resolver
}

// Dial opens a stream; the resolver's Dial is for its questions.
func (n namedSockets) Dial(ctx context.Context, addr string) (net.Conn, error) {
	return n.Sockets.Dial(ctx, addr)
}

// TestMembersFindEachOtherByName: members as in a StatefulSet, with the name of a headless
// service that also has the addresses of those that are not ready. It does not exist at
// first, then has some members, then others and an address where none runs. One more member
// comes by the service's SRV records.
func TestMembersFindEachOtherByName(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	if runtime.GOOS != "linux" {
		t.Skip("the test listens on 127.0.1.1 to 127.0.1.4, which only Linux has without configuration")
	}
	t.Parallel()
	free, err := loopback.FreeAddrs(1) // others listen on other hosts: this one has the port to itself on each
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free[0])
	names := dnstest.Start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*apiPatience)
	defer cancel()
	start := func(i, expect int, join string) (*grid.Member, error) {
		host := fmt.Sprint("127.0.1.", i)
		return grid.Start(ctx, grid.Config{
			GossipAddr: net.JoinHostPort(host, port), RaftAddr: host + ":0", APIAddr: host + ":0", Join: []string{join},
			Expect:    expect,
			FirstLife: true, Window: time.Second, Network: namedSockets{Resolver: names.Resolver()}, Logger: testLogger(),
		})
	}
	members := make([]*grid.Member, 4)
	errs := make([]error, 4)
	defer func() {
		for _, m := range members {
			if m != nil {
				_ = m.Close()
			}
		}
	}()
	var forming sync.WaitGroup
	for i := range 3 {
		forming.Go(func() { members[i], errs[i] = start(i+1, 3, "ids.test:"+port) })
	}
	for names.Queries() < 12 && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond) // the name does not exist, and all have asked for it
	}
	names.Set("ids.test", "127.0.1.1", "127.0.1.2")
	forming.Wait()
	names.Set("ids.test", "127.0.1.3", "127.0.1.9")
	names.Set("ids-2.ids.test", "127.0.1.3")
	names.Set("_gossip._tcp.ids.test", "0 50 "+port+" ids-2.ids.test")
	members[3], errs[3] = start(4, 0, "srv:_gossip._tcp.ids.test")
	for i, err := range errs {
		if err != nil {
			t.Fatalf("member %d: %v", i+1, err)
		}
	}
	if n := len(members[3].Status().Members); n != 4 {
		t.Errorf("the fourth member sees %d members", n)
	}
}
