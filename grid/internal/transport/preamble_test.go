package transport_test

import (
	"errors"
	"io"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// known are releases of servers, for tests.
type known struct {
	own    roster.Release
	stated chan roster.Release // by streams to the server
}

func (k known) Own() roster.Release { return k.own }
func (k known) Admit(theirs roster.Release) error {
	k.stated <- theirs
	return k.own.Meets(theirs)
}

// TestRaftStreamStatesTheRelease: a server takes only streams of releases that it works with.
func TestRaftStreamStatesTheRelease(t *testing.T) {
	for what, c := range map[string]struct {
		own   roster.Release // of the dialer
		taken bool
	}{
		"the same":          {ours, true},
		"later, in common":  {roster.Release{Min: 1, Max: 3, Build: "v3"}, true},
		"without in common": {roster.Release{Min: 3, Max: 4, Build: "v4"}, false},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := gridtest.NewNetwork()
				open := func(name string, releases transport.Releases) *transport.RaftStream {
					ln, err := n.Host(name).Listen(name + ":7947")
					if err != nil {
						t.Fatal(err)
					}
					s := transport.NewRaftStream(ln, n.Host(name), gridID, transport.NoClaims{}, releases, name, name+":7947", nil,
						nil)
					t.Cleanup(func() { _ = s.Close() })
					return s
				}
				listener := known{own: ours, stated: make(chan roster.Release, 1)}
				go echo(open("b", listener))
				conn, err := open("a", known{own: c.own}).Dial(dialTo("b"), time.Second)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = conn.Close() }()
				if stated := <-listener.stated; stated != c.own {
					t.Errorf("stated %v, want %v", stated, c.own)
				}
				// A listener that closes before it has read all resets the stream.
				err = answers(conn)
				if ended := errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET); (err == nil) != c.taken ||
					err != nil && !ended {
					t.Errorf("the stream ended with %v; it is taken: %v", err, c.taken)
				}
			})
		})
	}
}
