package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/vmihailenco/msgpack/v5"
)

// memberlist exposes no suspects: each listed node looks alive, and it accepts no report from its own
// process. The state exchange between members has both. So a member exchanges state with its own
// memberlist over an in-process stream, without joining through it.

// NodeState is the state of a node in a member's memberlist.
type NodeState struct {
	Name  string
	State memberlist.NodeStateType
}

const ownExchangeLimit = 2 * time.Second

// pushPullHeader and pushNode belong to memberlist's state exchange.
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

// OwnStates returns the state of every node in this member's memberlist, in no order.
func (t *Gossip) OwnStates(ctx context.Context) (out []NodeState, err error) {
	nodes, err := t.ownExchange(ctx, nil)
	for _, n := range nodes {
		out = append(out, NodeState{n.Name, memberlist.NodeStateType(n.State)})
	}
	return out, err
}

// Suspect makes this member's memberlist suspect a node, as if its own probe had failed: the suspicion
// reaches every member, and the node may refute it.
func (t *Gossip) Suspect(ctx context.Context, name string) error {
	nodes, err := t.ownExchange(ctx, nil)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if n.Name == name && memberlist.NodeStateType(n.State) == memberlist.StateAlive {
			n.State = uint8(memberlist.StateSuspect)
			_, err := t.ownExchange(ctx, []pushNode{n})
			return err
		}
	}
	return nil
}

// ownExchange exchanges states with this member's own memberlist.
func (t *Gossip) ownExchange(ctx context.Context, told []pushNode) ([]pushNode, error) {
	ctx, cancel := context.WithTimeout(ctx, ownExchangeLimit)
	defer cancel()
	near, far := net.Pipe()
	defer func() { _ = near.Close() }()
	select {
	case t.acceptor.Streams <- far:
	case <-ctx.Done():
		_ = far.Close()
		return nil, fmt.Errorf("grid: gossip took no stream: %w", ctx.Err())
	case <-t.ctx.Done():
		_ = far.Close()
		return nil, fmt.Errorf("grid: gossip has ended: %w", net.ErrClosed)
	}
	stop := context.AfterFunc(ctx, func() { _ = near.Close() })
	defer stop()
	request, err := t.statesRequest(told)
	if err == nil {
		_, err = near.Write(request)
	}
	var out []pushNode
	if err == nil {
		out, err = t.readStates(near)
	}
	if err != nil {
		return nil, fmt.Errorf("grid: gossip state unreadable: %w", errors.Join(err, ctx.Err()))
	}
	return out, nil
}

func (t *Gossip) statesRequest(told []pushNode) ([]byte, error) {
	body, err := msgpack.Marshal(pushPullHeader{Nodes: len(told)})
	for i := 0; err == nil && i < len(told); i++ {
		var node []byte
		node, err = msgpack.Marshal(told[i])
		body = append(body, node...)
	}
	if err != nil {
		return nil, err
	}
	message := append([]byte{gossipPushPull}, body...)
	if t.cfg.Keys != nil {
		message = t.cfg.Keys.seal(message, t.cfg.Grid)
	}
	return append(labelHeader(t.cfg.Grid), message...), nil
}

func (t *Gossip) readStates(r io.Reader) ([]pushNode, error) {
	r = io.LimitReader(r, gossipStreamMax)
	if t.cfg.Keys != nil {
		frame, err := t.cfg.Keys.readFrame(r, t.cfg.Grid, t.largeFrames)
		if err != nil {
			return nil, err
		}
		r = bytes.NewReader(frame.plain)
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
	var out []pushNode
	for range header.Nodes {
		var node pushNode
		if err := dec.Decode(&node); err != nil {
			return nil, err
		}
		out = append(out, node)
	}
	return out, nil
}
