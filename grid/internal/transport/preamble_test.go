package transport_test

import (
	"errors"
	"io"
	"net"
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
	own, others roster.Release
	stated      chan roster.Release // by streams to the server
}

func (k known) Own() roster.Release      { return k.own }
func (k known) At(string) roster.Release { return k.others }
func (k known) Admit(theirs roster.Release) error {
	k.stated <- theirs
	return k.own.Meets(theirs)
}

// TestRaftStreamStatesTheRelease: to a server that understands it, and a server takes only
// streams of releases that it works with.
func TestRaftStreamStatesTheRelease(t *testing.T) {
	next := roster.Release{Min: 3, Max: 4, Build: "v4"}
	repeats := roster.Release{Min: 1, Max: 3, Build: "v3"}
	for what, c := range map[string]struct {
		own, others roster.Release // of the dialer, and as it knows the listener
		stated      roster.Release
		taken       bool
	}{
		"known":               {ours, ours, ours, true},
		"not known":           {ours, roster.Release{}, roster.Release{}, true},
		"one that repeats":    {repeats, repeats, repeats, true},
		"only one repeats":    {repeats, ours, repeats, true},
		"without in common":   {next, ours, next, false},
		"the release of both": {roster.Release{}, ours, roster.Release{}, true},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := gridtest.NewNetwork()
				open := func(name string, releases transport.Releases) *transport.RaftStream {
					ln, err := n.Host(name).Listen(name + ":7947")
					if err != nil {
						t.Fatal(err)
					}
					s := transport.NewRaftStream(ln, n.Host(name), gridID, transport.NoClaims{}, releases, name, name+":7947", nil, nil)
					t.Cleanup(func() { _ = s.Close() })
					return s
				}
				listener := known{own: ours, stated: make(chan roster.Release, 1)}
				go echo(open("b", listener))
				conn, err := open("a", known{own: c.own, others: c.others}).Dial(dialTo("b"), time.Second)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = conn.Close() }()
				if stated := <-listener.stated; stated != c.stated {
					t.Errorf("stated %v, want %v", stated, c.stated)
				}
				// A listener that closes before it has read all resets the stream.
				err = answers(conn)
				if ended := errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET); (err == nil) != c.taken || err != nil && !ended {
					t.Errorf("the stream ended with %v; it is taken: %v", err, c.taken)
				}
			})
		})
	}
}

// TestRaftStreamInShort: a stream repeats messages in short only to a server of which it is
// known that it reads that.
func TestRaftStreamInShort(t *testing.T) {
	for what, c := range map[string]struct {
		others roster.Release
		opens  byte
	}{
		"not known":       {roster.Release{}, 0x21},
		"the one before":  {ours, 0x23},
		"of this release": {roster.Release{Min: 1, Max: roster.Protocol3}, 0x24},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := gridtest.NewNetwork()
				open := func(name string) net.Listener {
					ln, err := n.Host(name).Listen(name + ":7947")
					if err != nil {
						t.Fatal(err)
					}
					return ln
				}
				own := roster.Release{Min: 1, Max: roster.Protocol3, Build: "v3"}
				dialer := transport.NewRaftStream(open("a"), n.Host("a"), gridID, transport.NoClaims{}, known{own: own, others: c.others}, "a", "a:7947", nil, nil)
				defer func() { _ = dialer.Close() }()
				ln := open("b")
				defer func() { _ = ln.Close() }()
				conn, err := dialer.Dial(dialTo("b"), time.Second)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = conn.Close() }()
				taken, err := ln.Accept()
				if err != nil {
					t.Fatal(err)
				}
				var head [5]byte
				if _, err := io.ReadFull(taken, head[:]); err != nil || head[4] != c.opens {
					t.Errorf("a stream of kind %#x: %v; want %#x", head[4], err, c.opens)
				}
			})
		})
	}
}
