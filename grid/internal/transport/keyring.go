package transport

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/memberlist"
)

// Keyring holds gossip keys. Each opens messages, and the first one seals them. A nil Keyring means
// clear text.
//
// memberlist has its own ring, which is kept equal to this one. This one opens each message first, so
// that memberlist receives only messages from members, in forms that members use.
type Keyring struct {
	ring *memberlist.Keyring

	mu      sync.Mutex // one change at a time
	current atomic.Pointer[[]ringKey]
}

type ringKey struct {
	key  []byte
	aead cipher.AEAD
}

var (
	errNotOpened    = errors.New("grid: no gossip key opens the message")
	errNoGossipKeys = errors.New("grid: a keyring has at least one key")
)

// NewKeyring returns a keyring, nil for no keys.
func NewKeyring(keys [][]byte) (*Keyring, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	ring, err := memberlist.NewKeyring(nil, keys[0])
	if err != nil {
		return nil, err
	}
	k := &Keyring{ring: ring}
	return k, k.Set(keys)
}

// Keys returns the keys; the first seals. Do not modify them.
func (k *Keyring) Keys() [][]byte {
	if k == nil {
		return nil
	}
	var out [][]byte
	for _, r := range *k.current.Load() {
		out = append(out, r.key)
	}
	return out
}

// Set replaces the keys. The first one seals from now on.
func (k *Keyring) Set(keys [][]byte) error {
	if len(keys) == 0 {
		return errNoGossipKeys
	}
	var next []ringKey
	for _, key := range keys {
		if slices.ContainsFunc(next, func(r ringKey) bool { return bytes.Equal(r.key, key) }) {
			continue
		}
		aead, err := newGCM(key)
		if err != nil {
			return err
		}
		next = append(next, ringKey{bytes.Clone(key), aead})
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := setRing(k.ring, next); err != nil {
		return err
	}
	k.current.Store(&next)
	return nil
}

// setRing makes memberlist's ring equal to keys. RemoveKey moves the keys behind the removed one in
// memory that memberlist may be reading, so only the last key is ever removed; keys behind a removed
// one are taken off and added again.
func setRing(ring *memberlist.Keyring, keys []ringKey) error {
	for _, want := range keys {
		if err := ring.AddKey(want.key); err != nil {
			return err
		}
	}
	if err := ring.UseKey(keys[0].key); err != nil {
		return err
	}
	wanted := func(key []byte) bool {
		return slices.ContainsFunc(keys, func(r ringKey) bool { return bytes.Equal(r.key, key) })
	}
	has := slices.Clone(ring.GetKeys())
	gone := slices.IndexFunc(has, func(key []byte) bool { return !wanted(key) })
	if gone < 0 {
		return nil
	}
	for _, key := range slices.Backward(has[gone:]) {
		if err := ring.RemoveKey(key); err != nil {
			return err
		}
	}
	for _, key := range has[gone:] {
		if !wanted(key) {
			continue
		}
		if err := ring.AddKey(key); err != nil {
			return err
		}
	}
	return nil
}

// Memberlist returns the ring for memberlist, nil for clear text.
func (k *Keyring) Memberlist() *memberlist.Keyring {
	if k == nil {
		return nil
	}
	return k.ring
}

// A sealed message in memberlist's encryption version 1 format:
//
//	+---------+----------+---------------------------+
//	| version | nonce    | AES-GCM of the message    |
//	| 1 byte  | 12 bytes | and a tag of 16 bytes     |
//	+---------+----------+---------------------------+
//
// A datagram is a label and a sealed message, which authenticates the label. On a stream a kind byte
// and a 4-byte length come first, and are authenticated, too.
//
// The version is not authenticated. In version 0 the message ends with padding, and its last byte is
// the padding's length: memberlist removes that many bytes without a check. A recorded message with
// another version would crash the process.
const (
	sealedHead    = 5
	sealedVersion = 1
	sealedNonce   = 12
	sealedTag     = 16
	sealedMin     = 1 + sealedNonce + sealedTag
)

// open returns the content of a sealed message that is bound to other bytes.
func (k *Keyring) open(b, bound []byte) ([]byte, error) {
	if len(b) < sealedMin || b[0] != sealedVersion {
		return nil, errNotOpened
	}
	nonce, sealed := b[1:1+sealedNonce], b[1+sealedNonce:]
	for _, key := range *k.current.Load() {
		if plain, err := key.aead.Open(nil, nonce, sealed, bound); err == nil {
			return plain, nil
		}
	}
	return nil, errNotOpened
}

func (k *Keyring) openPacket(b []byte, label string) ([]byte, error) {
	sealed, found := bytes.CutPrefix(b, labelHeader(label))
	if !found {
		return nil, errNotOpened
	}
	return k.open(sealed, []byte(label))
}

// labelHeader returns the prefix of a grid's messages.
func labelHeader(label string) []byte {
	return append([]byte{gossipLabel, byte(len(label))}, label...)
}

// seal returns a message of a stream, sealed by the first key.
func (k *Keyring) seal(message []byte, label string) []byte {
	aead := (*k.current.Load())[0].aead
	nonce := make([]byte, sealedNonce)
	_, _ = rand.Read(nonce) // never fails
	size := sealedMin + len(message)
	head := binary.BigEndian.AppendUint32([]byte{gossipEncrypted}, uint32(size)) //nolint:gosec // a request is small
	bound := slices.Concat(head, []byte(label))
	return aead.Seal(append(append(head, sealedVersion), nonce...), nonce, message, bound)
}

func newGCM(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
