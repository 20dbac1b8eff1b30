package transport

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

// testKey returns a key of 32 bytes.
func testKey(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

// sealPacket returns a datagram as memberlist has it.
func (k *Keyring) sealPacket(t testing.TB, content []byte, label string) []byte {
	t.Helper()
	aead := (*k.current.Load())[0].aead
	nonce := bytes.Repeat([]byte{7}, sealedNonce)
	b := append(labelHeader(label), sealedVersion)
	return aead.Seal(append(b, nonce...), nonce, content, []byte(label))
}

func mustKeyring(t testing.TB, keys ...[]byte) *Keyring {
	t.Helper()
	k, err := NewKeyring(keys)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestKeyringIsMemberlistsRing: whatever keys follow each other, both rings have the same
// keys and the same first one, and a ring that is being read is not changed.
func TestKeyringIsMemberlistsRing(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
	k := mustKeyring(t, testKey(0))
	done := make(chan struct{})
	var reading sync.WaitGroup
	for range 2 {
		reading.Go(func() { // as memberlist reads it, without a lock
			for {
				select {
				case <-done:
					return
				default:
				}
				for _, key := range k.Memberlist().GetKeys() {
					if len(key) != 32 || !bytes.Equal(key, bytes.Repeat(key[:1], 32)) {
						t.Errorf("a key is %x", key)
						return
					}
				}
			}
		})
	}
	for range 2000 {
		var next [][]byte
		for range 1 + random.IntN(6) {
			next = append(next, testKey(byte(random.IntN(8))))
		}
		if err := k.Set(next); err != nil {
			t.Fatal(err)
		}
		want := slices.CompactFunc(slices.SortedFunc(slices.Values(next), bytes.Compare), bytes.Equal)
		ring := k.Memberlist().GetKeys()
		if !bytes.Equal(ring[0], next[0]) || !bytes.Equal(k.Keys()[0], next[0]) {
			t.Fatalf("the first of %x is %x for memberlist and %x here", next, ring[0], k.Keys()[0])
		}
		for _, got := range [][][]byte{ring, k.Keys()} {
			if sorted := slices.SortedFunc(slices.Values(got), bytes.Compare); !slices.EqualFunc(sorted, want, bytes.Equal) {
				t.Fatalf("keys are %x, want %x", sorted, want)
			}
		}
	}
	close(done)
	reading.Wait()
}

func TestKeyringRefusesNoKey(t *testing.T) {
	if k, err := NewKeyring(nil); k != nil || err != nil {
		t.Errorf("no keys: %v, %v", k, err)
	}
	if _, err := NewKeyring([][]byte{testKey(1)[:31]}); err == nil {
		t.Error("a key of 31 bytes was taken")
	}
	k := mustKeyring(t, testKey(1))
	for _, keys := range [][][]byte{nil, {testKey(2), testKey(3)[:5]}} {
		if err := k.Set(keys); err == nil || !bytes.Equal(k.Keys()[0], testKey(1)) || len(k.Memberlist().GetKeys()) != 1 {
			t.Errorf("%x was set: %v, keys %x", keys, err, k.Keys())
		}
	}
}

// TestSealedPacket: a datagram is opened by any key of the ring and with this grid's label,
// and nothing else opens it.
func TestSealedPacket(t *testing.T) {
	k := mustKeyring(t, testKey(1), testKey(2))
	content := []byte("content")
	for _, by := range []byte{1, 2} {
		b := mustKeyring(t, testKey(by)).sealPacket(t, content, "g")
		if got, err := k.openPacket(b, "g"); err != nil || !bytes.Equal(got, content) {
			t.Errorf("key %d: %q, %v", by, got, err)
		}
	}
	good := mustKeyring(t, testKey(1)).sealPacket(t, content, "g")
	altered := func(at int, by byte) []byte {
		b := bytes.Clone(good)
		b[at] ^= by
		return b
	}
	bad := map[string][]byte{
		"another key":     mustKeyring(t, testKey(3)).sealPacket(t, content, "g"),
		"another label":   mustKeyring(t, testKey(1)).sealPacket(t, content, "h"),
		"no label":        good[3:],
		"two labels":      append(labelHeader("g"), good...),
		"a label of none": append([]byte{gossipLabel, 0}, good[3:]...),
		"clear text":      append(labelHeader("g"), content...),
		"nothing":         {},
		"a label only":    labelHeader("g"),
		"the last byte":   altered(len(good)-1, 1),
		"the nonce":       altered(5, 1),
		"a later version": altered(3, 3),
		// opens, since the version is not authenticated, and ends in padding that is not there
		"an older version": altered(3, 1),
	}
	for n := range good {
		bad[fmt.Sprintf("cut off at %d", n)] = good[:n]
	}
	for what, b := range bad {
		if got, err := k.openPacket(b, "g"); err == nil {
			t.Errorf("%s: opened as %q", what, got)
		}
	}
}

// FuzzSealedFrame: no stream makes a member panic, or is believed without a key.
func FuzzSealedFrame(f *testing.F) {
	k := mustKeyring(f, testKey(1))
	good := k.seal([]byte("content"), "g")
	f.Add(good)
	f.Add(append(labelHeader("g"), good...))
	f.Add([]byte{gossipLabel, 255, 1})
	f.Add([]byte{gossipEncrypted, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, err := k.readFrame(bytes.NewReader(b), "g", make(chan struct{}, 1))
		if err != nil {
			return
		}
		at := bytes.Index(b, good[:sealedHead])
		if at < 0 || !bytes.Equal(frame.read, b[:at+len(good)]) || string(frame.plain) != "content" {
			t.Errorf("%x was opened as %q", b, frame.plain)
		}
		if strings.Contains(string(frame.read), "content") {
			t.Error("it was not sealed")
		}
	})
}

// TestLargeFramesWaitForATurn: messages that need much memory are read a few at a time.
func TestLargeFramesWaitForATurn(t *testing.T) {
	k := mustKeyring(t, testKey(1))
	sealed := k.seal(make([]byte, frameSmall), "g")
	places := make(chan struct{}, 1)
	if _, err := k.readFrame(bytes.NewReader(sealed), "g", places); err != nil || len(places) != 0 {
		t.Fatalf("with a free place: %v, %d taken", err, len(places))
	}
	places <- struct{}{}
	if _, err := k.readFrame(bytes.NewReader(sealed), "g", places); err == nil {
		t.Error("a large message was read beyond the limit")
	}
	small := k.seal([]byte("x"), "g")
	if _, err := k.readFrame(bytes.NewReader(small), "g", places); err != nil {
		t.Errorf("a small one: %v", err)
	}
}
