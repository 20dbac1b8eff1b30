package transport

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// A gossip stream with a key is one sealed message in each direction, the first after the label:
//
//	+--------+--------+-------+----+--------+----------------+
//	| kind   | length | label | 10 | length | sealed message |
//	| 1 byte | 1 byte |       |    | 4 bytes|                |
//	+--------+--------+-------+----+--------+----------------+
//
// The message is opened before memberlist receives a byte, and nothing after it is read. Both sides
// greet each other first, in clear text (greeting.go), and a side that cannot open the message replies
// with an error. Neither proves anything: any process on the path can write it. So in a gossip with a
// key they only cause dial errors, log lines and error texts.
const (
	// frameSmall is the size of a message that any accepted stream may have. It is enough for
	// about 200 members.
	frameSmall = 64 << 10
	// largeFramesMax limits concurrent reads of larger frames, and largeFrameWait the wait for a turn.
	largeFramesMax = 16
	largeFrameWait = time.Second
	// drainMax bounds the bytes drained from a refused message, so that the reply arrives.
	drainMax = gossipStreamMax
)

var (
	errClearText = errors.New("grid: the message is in clear text, and this gossip has a key")
	errSealed    = errors.New("grid: the message is sealed, and this gossip has no key")
	errBusy      = errors.New("grid: too many large gossip messages are being read")
)

// refusedByKey returns the error of a dialed member's message that was not opened.
func refusedByKey(addr string, cause error) *RefusedError {
	text := "no key of this member opens the messages of the member at %s; give this member the grid's keys " +
		"(gossip.keys in the security directory)"
	switch {
	case errors.Is(cause, errClearText):
		text = "the member at %s has none, and this one has; give both the same keys, or none"
	case errors.Is(cause, errSealed):
		text = "the member at %s has one, and this one has none; give this member the grid's keys (gossip.keys in the " +
			"security directory)"
	}
	return &RefusedError{ByKey, addr, "grid: the gossip key differs: " + fmt.Sprintf(text, addr)}
}

type sealedFrame struct {
	read  []byte // as it was on the stream, with its label
	plain []byte
}

// readFrame reads a sealed message and opens it. large has the places for large ones.
func (k *Keyring) readFrame(r io.Reader, grid string, large chan struct{}) (sealedFrame, error) {
	var read bytes.Buffer // grows as bytes arrive, whatever the length field claims
	take := func(n int) ([]byte, error) {
		_, err := io.CopyN(&read, r, int64(n))
		return read.Bytes()[max(0, read.Len()-n):], err
	}
	kind, err := take(1)
	if err == nil && kind[0] == gossipLabel {
		kind, err = takeLabel(take, grid)
	}
	switch {
	case err != nil:
		return sealedFrame{}, err
	case kind[0] != gossipEncrypted && kind[0] <= gossipError:
		return sealedFrame{}, errClearText
	case kind[0] != gossipEncrypted:
		return sealedFrame{}, errBadOpening
	}
	length, err := take(sealedHead - 1)
	if err != nil {
		return sealedFrame{}, err
	}
	size := binary.BigEndian.Uint32(length)
	if size < sealedMin || size > gossipStreamMax {
		return sealedFrame{}, errBadOpening
	}
	if size > frameSmall {
		if err := enter(large); err != nil {
			return sealedFrame{}, err
		}
		defer func() { <-large }()
	}
	head := read.Len() - sealedHead
	if _, err := take(int(size)); err != nil {
		return sealedFrame{}, err
	}
	all := read.Bytes()
	body := all[head+sealedHead:]
	bound := append(bytes.Clone(all[head:head+sealedHead]), grid...)
	plain, err := k.open(body, bound)
	return sealedFrame{all, plain}, err
}

// takeLabel reads a label, which has to be the grid's name, and returns the byte after it.
func takeLabel(take func(int) ([]byte, error), grid string) ([]byte, error) {
	n, err := take(1)
	if err != nil {
		return nil, err
	}
	label, err := take(int(n[0]))
	if err != nil {
		return nil, err
	}
	if string(label) != grid {
		return nil, errBadOpening
	}
	return take(1)
}

func enter(places chan struct{}) error {
	select {
	case places <- struct{}{}:
		return nil
	case <-time.After(largeFrameWait):
		return errBusy
	}
}

// checkContent checks an opened message as the opening of a stream in clear text.
func checkContent(plain []byte) error {
	from := bufio.NewReader(bytes.NewReader(plain))
	kind, err := from.ReadByte()
	if err != nil {
		return errBadOpening
	}
	return checkOpening(kind, from)
}

// refuse reports a stream from a peer with another key, and replies with an error.
func (s *gossipStream) refuse(err error) {
	if !errors.Is(err, errNotOpened) && !errors.Is(err, errClearText) && !errors.Is(err, errSealed) {
		return
	}
	if s.dialed != "" {
		s.of.noteKey(refusedByKey(s.dialed, err))
		return
	}
	s.of.refuse(fmt.Errorf("%w; a stream from %s", err, s.RemoteAddr()))
	if s.of.cfg.Keys == nil {
		return // memberlist answers
	}
	_, _ = s.Write(unopened())
	_, _ = io.CopyN(io.Discard, s.Conn, drainMax) // until the other side ends the stream, or the deadline
}

// unopened returns a message that no key opens: the answer of a member that has no key in
// common. Nothing is sealed for a process that may be anyone.
func unopened() []byte {
	b := make([]byte, sealedHead+sealedMin+1)
	_, _ = rand.Read(b) // never fails
	b[0], b[sealedHead] = gossipEncrypted, sealedVersion
	binary.BigEndian.PutUint32(b[1:], uint32(len(b)-sealedHead))
	return b
}

func (t *Gossip) noteKey(refused *RefusedError) {
	t.mu.Lock()
	t.noKey = refused
	t.mu.Unlock()
	t.refuse(refused)
}

func (t *Gossip) keyAccepted(addr string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.noKey != nil && addr != "" && t.noKey.Addr == addr {
		t.noKey = nil
	}
}

// KeyRefusal is the last time that a member which was dialed turned out to have another
// gossip key, nil if there was none. A later success at the same address clears it.
func (t *Gossip) KeyRefusal() *RefusedError {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.noKey
}
