package transport

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/vmihailenco/msgpack/v5"
)

// memberlist shows no suspects: each node that it lists looks alive. The exchange of states
// between members has them. So a member that wants to know asks its own memberlist in the
// same way, by a stream that does not leave the process, and joins nothing by it.

// NodeState is the state of a node in a member's memberlist.
type NodeState struct {
	Name  string
	State memberlist.NodeStateType
}

const (
	gossipEncrypted = 10
	ownStatesLimit  = 2 * time.Second
)

// pushPullHeader and pushNode are those of memberlist's exchange of states.
type (
	pushPullHeader struct {
		Nodes        int
		UserStateLen int
		Join         bool
	}
	pushNode struct {
		Name        string
		Addr        []byte
		Port        uint16
		Meta        []byte
		Incarnation uint32
		State       uint8
		Vsn         []byte
	}
)

// OwnStates returns the state of every node that this member's memberlist knows, in no
// order. The key is that of the gossip, nil for none.
func (t *Gossip) OwnStates(ctx context.Context, key []byte) ([]NodeState, error) {
	ctx, cancel := context.WithTimeout(ctx, ownStatesLimit)
	defer cancel()
	near, far := net.Pipe()
	defer func() { _ = near.Close() }()
	select {
	case t.acceptor.streams <- far:
	case <-ctx.Done():
		_ = far.Close()
		return nil, fmt.Errorf("grid: gossip took no stream: %w", ctx.Err())
	case <-t.ctx.Done():
		_ = far.Close()
		return nil, fmt.Errorf("grid: gossip has ended: %w", net.ErrClosed)
	}
	stop := context.AfterFunc(ctx, func() { _ = near.Close() })
	defer stop()
	request, err := t.statesRequest(key)
	if err == nil {
		_, err = near.Write(request)
	}
	var out []NodeState
	if err == nil {
		out, err = readStates(near, key, t.grid)
	}
	if err != nil {
		return nil, fmt.Errorf("grid: gossip did not tell its state: %w", errors.Join(err, ctx.Err()))
	}
	return out, nil
}

// statesRequest returns an exchange of states that brings none.
func (t *Gossip) statesRequest(key []byte) ([]byte, error) {
	header, err := msgpack.Marshal(pushPullHeader{})
	if err != nil {
		return nil, err
	}
	message := append([]byte{gossipPushPull}, header...)
	if len(key) > 0 {
		if message, err = seal(key, message, t.grid); err != nil {
			return nil, err
		}
	}
	label := append([]byte{gossipLabel, byte(len(t.grid))}, t.grid...)
	return append(label, message...), nil
}

// readStates reads the other half of an exchange of states.
func readStates(r io.Reader, key []byte, label string) ([]NodeState, error) {
	r = io.LimitReader(r, gossipStreamMax)
	if len(key) > 0 {
		plain, err := unseal(key, r, label)
		if err != nil {
			return nil, err
		}
		r = bytes.NewReader(plain)
	}
	var kind [1]byte
	if _, err := io.ReadFull(r, kind[:]); err != nil {
		return nil, err
	}
	if kind[0] != gossipPushPull {
		return nil, fmt.Errorf("%w: message %d", errBadOpening, kind[0])
	}
	dec := msgpack.NewDecoder(r)
	var header pushPullHeader
	if err := dec.Decode(&header); err != nil {
		return nil, err
	}
	var out []NodeState
	for range header.Nodes {
		var node pushNode
		if err := dec.Decode(&node); err != nil {
			return nil, err
		}
		out = append(out, NodeState{node.Name, memberlist.NodeStateType(node.State)})
	}
	return out, nil
}

// A sealed message of a stream, as memberlist has it since its version 1 of encryption:
//
//	+--------+------------+---------+----------+---------------------------+
//	| kind   | length     | version | nonce    | AES-GCM of the message    |
//	| 1 byte | 4 bytes    | 1 byte  | 12 bytes | and a tag of 16 bytes     |
//	+--------+------------+---------+----------+---------------------------+
//
// The first two fields and the label are authenticated.
const (
	sealedHead    = 5
	sealedVersion = 1
)

// seal encrypts a message of a stream.
func seal(key, message []byte, label string) ([]byte, error) {
	gcm, err := newGCM(key)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, gcm.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	size := 1 + len(nonce) + len(message) + gcm.Overhead()
	head := binary.BigEndian.AppendUint32([]byte{gossipEncrypted}, uint32(size)) //nolint:gosec // a request is small
	bound := append(bytes.Clone(head), label...)
	return gcm.Seal(append(append(head, sealedVersion), nonce...), nonce, message, bound), nil
}

// unseal reads and decrypts a message of a stream.
func unseal(key []byte, r io.Reader, label string) ([]byte, error) {
	gcm, err := newGCM(key)
	if err != nil {
		return nil, err
	}
	head := make([]byte, sealedHead)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if head[0] != gossipEncrypted || size > gossipStreamMax || int(size) < 1+gcm.NonceSize()+gcm.Overhead() {
		return nil, errBadOpening
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, err
	}
	nonce, sealed := body[1:1+gcm.NonceSize()], body[1+gcm.NonceSize():]
	return gcm.Open(nil, nonce, sealed, append(bytes.Clone(head), label...))
}

func newGCM(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
