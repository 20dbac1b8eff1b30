package transport_test

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
)

// refusals collects the reports of a gossip.
type refusals struct {
	mu   sync.Mutex
	errs []error
}

func (r *refusals) report(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
}

func (r *refusals) take() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.errs
	r.errs = nil
	return out
}

func keyring(t *testing.T, keys ...string) *transport.Keyring {
	t.Helper()
	var list [][]byte
	for _, k := range keys {
		list = append(list, []byte(strings.Repeat(k, 16)))
	}
	k, err := transport.NewKeyring(list)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func keyedGossip(t *testing.T, nw transport.Network, bind string, keys *transport.Keyring) (*transport.Gossip,
	*refusals) {
	t.Helper()
	r := &refusals{}
	tr, err := transport.NewGossip(t.Context(), transport.GossipConfig{Network: nw, Grid: "g", Bind: bind, Keys: keys,
		Refused: r.report})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tr.Shutdown() })
	return tr, r
}

// TestDatagramsOfAGossipWithAKey: memberlist gets those that a key opens, as they were, and
// no other one; and of a change of keys every datagram after it.
func TestDatagramsOfAGossipWithAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		keys := keyring(t, "a", "b")
		to, refused := keyedGossip(t, n.Host("a"), "a:1", keys)
		from := newGossip(t, n.Host("b"), "g", "b:1")
		passed := func(b []byte) bool {
			t.Helper()
			if _, err := from.WriteTo(b, to.Addr()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			select {
			case p := <-to.PacketCh():
				if !bytes.Equal(p.Buf, b) {
					t.Errorf("%x was passed on as %x", b, p.Buf)
				}
				return true
			default:
				return false
			}
		}
		ping := []byte{0, 0x81, 0xa5, 'S', 'e', 'q', 'N', 'o', 1}
		sealed := func(k string) []byte { return keyring(t, k).SealedPacket(t, ping, "g") }
		for k, want := range map[string]bool{"a": true, "b": true, "c": false} {
			if got := passed(sealed(k)); got != want || (len(refused.take()) > 0) != !want {
				t.Errorf("key %s: passed on is %v", k, got)
			}
		}
		for _, b := range [][]byte{ping, append([]byte("\xf4\x01g"), ping...)} {
			if passed(b) || len(refused.take()) != 1 {
				t.Errorf("%x in clear text was passed on", b)
			}
		}
		overflow := append([]byte{5}, "\x81\xabIncarnation\xce\xff\xff\xff\xff"...)
		for _, content := range [][]byte{overflow, append([]byte{7, 1, 0, byte(len(overflow))}, overflow...), {9, 0x80}} {
			if passed(keyring(t, "a").SealedPacket(t, content, "g")) {
				t.Errorf("%x, which no member sends, was passed on", content)
			}
		}
		if err := keys.Set([][]byte{[]byte(strings.Repeat("c", 16))}); err != nil {
			t.Fatal(err)
		}
		for k, want := range map[string]bool{"a": false, "b": false, "c": true} {
			if got := passed(sealed(k)); got != want {
				t.Errorf("key %s after the change: passed on is %v", k, got)
			}
		}
	})
}

// TestStreamsOfAGossipWithAKey: of a stream that no key opens not a byte is passed on, and
// both sides know why.
func TestStreamsOfAGossipWithAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		content := []byte("\x00\x81\xa5SeqNo\x01")
		for i, c := range []struct {
			dialer, listener []string
			opens            bool
			why              string // at the dialer
		}{
			{[]string{"a"}, []string{"a"}, true, ""},
			{[]string{"a"}, []string{"b", "a"}, true, ""},
			{[]string{"a"}, []string{"b"}, false, "no key of this member opens the messages of"},
			{[]string{}, []string{"b"}, false, "has one, and this one has none"},
		} {
			hosts := string(rune('a' + i))
			var ownKeys *transport.Keyring
			if len(c.dialer) > 0 {
				ownKeys = keyring(t, c.dialer...)
			}
			dialer, _ := keyedGossip(t, n.Host("d"+hosts), "d"+hosts+":1", ownKeys)
			listener, refused := keyedGossip(t, n.Host("l"+hosts), "l"+hosts+":1", keyring(t, c.listener...))
			conn, err := dialer.DialTimeout(listener.Addr(), time.Second)
			if err != nil {
				t.Fatal(err)
			}
			message := append([]byte("\xf4\x01g"), content...)
			if ownKeys != nil {
				if message, err = ownKeys.SealedStream(content, "g"); err != nil {
					t.Fatal(err)
				}
			}
			_, _ = conn.Write(message)
			_ = conn.SetDeadline(time.Now().Add(2 * time.Second))
			peer := <-listener.StreamCh()
			_ = peer.SetDeadline(time.Now().Add(2 * time.Second))
			read := make(chan []byte, 1)
			go func() {
				got := make([]byte, len(message))
				k, _ := io.ReadFull(peer, got)
				read <- got[:k]
				_ = peer.Close()
			}()
			if !c.opens {
				_, err := conn.Read(make([]byte, 100))
				differs := dialer.KeyRefusal()
				if (err == nil) != (ownKeys == nil) || differs == nil || differs.By != transport.ByKey ||
					differs.Addr != listener.Addr() || !strings.Contains(differs.Error(), c.why) {
					t.Errorf("%v to %v: read %v, refused %v", c.dialer, c.listener, err, dialer.KeyRefusal())
				}
			}
			_ = conn.Close()
			if got := <-read; c.opens != slices.Equal(got, message) || !c.opens && len(got) > 0 {
				t.Errorf("%v to %v: %q was passed on", c.dialer, c.listener, got)
			}
			if errs := refused.take(); c.opens != (len(errs) == 0) {
				t.Errorf("%v to %v: reported %v", c.dialer, c.listener, errs)
			}
		}
	})
}
