package transport

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/vmihailenco/msgpack/v5"
)

// memberlist trusts the sizes that a stream announces: a 40-byte header makes it allocate 140 MB for
// nodes and state that never arrive, and a few compressed bytes as much. So its input from a stream is
// bounded, and each stream's opening is checked first. With a key a stream is one sealed message in
// each direction (sealedstream.go).
const (
	// gossipStreamMax bounds one side's bytes on a stream, and gossipNodesMax the announced nodes: enough for
	// 2,000 members.
	gossipStreamMax = 640 << 10
	gossipNodesMax  = 2048
	// openingMax is the number of bytes of a stream that are read for the check.
	openingMax = 512
)

// The first bytes of memberlist's messages that are looked at.
const (
	gossipPushPull   = 6
	gossipUser       = 8
	gossipCompressed = 9
	gossipEncrypted  = 10
	gossipError      = 13
	gossipLabel      = 244
)

var errBadOpening = errors.New("grid: the gossip stream starts with a message that no member sends")

// gossipStream is a stream that memberlist reads. It is not read concurrently.
type gossipStream struct {
	net.Conn
	of     *Gossip
	dialed string    // the address; "" for an accepted stream
	rest   io.Reader // nil before the first Read
}

func (s *gossipStream) Read(b []byte) (int, error) {
	if s.rest == nil {
		rest, err := s.open(io.LimitReader(s.Conn, gossipStreamMax))
		if err != nil {
			s.refuse(err)
			return 0, err
		}
		s.rest = rest
	}
	return s.rest.Read(b)
}

// open reads how the stream opens, and returns all that memberlist is to read.
func (s *gossipStream) open(r io.Reader) (io.Reader, error) {
	if s.of.cfg.Keys != nil {
		frame, err := s.of.cfg.Keys.readFrame(r, s.of.cfg.Grid, s.of.largeFrames)
		if err != nil {
			return nil, err
		}
		s.of.keyAccepted(s.dialed)
		return bytes.NewReader(frame.read), checkContent(frame.plain)
	}
	read, err := readOpening(r)
	if rest, bad := unlabelled(read); err == nil && bad == nil && len(rest) > 0 && rest[0] == gossipEncrypted {
		s.refuse(errSealed) // memberlist refuses it as well, and answers
	}
	return io.MultiReader(bytes.NewReader(read), r), err
}

// readOpening reads how a stream opens, and perhaps more, and returns all of it.
func readOpening(r io.Reader) ([]byte, error) {
	var read bytes.Buffer
	from := bufio.NewReaderSize(io.TeeReader(r, &read), openingMax)
	kind, err := from.ReadByte()
	if err == nil && kind == gossipLabel {
		kind, err = skipLabel(from)
	}
	if err == nil {
		err = checkOpening(kind, from)
	}
	return read.Bytes(), err
}

func skipLabel(from *bufio.Reader) (byte, error) {
	n, err := from.ReadByte()
	if err != nil {
		return 0, err
	}
	if _, err := from.Discard(int(n)); err != nil {
		return 0, err
	}
	return from.ReadByte()
}

// checkOpening checks the header of a state exchange, and refuses values that no member uses. Any
// other message is one flat map.
func checkOpening(kind byte, from *bufio.Reader) error {
	switch kind {
	case gossipUser, gossipCompressed:
		return errBadOpening
	case gossipPushPull:
		dec := msgpack.NewDecoder(from)
		nodes, err := checkStates(dec)
		for ; err == nil && nodes > 0; nodes-- {
			err = checkState(dec)
		}
		return err
	}
	if !isDecoded(kind) {
		return nil
	}
	_, err := readNumbers(msgpack.NewDecoder(from))
	return err
}

// checkStates requires each header field once, at most gossipNodesMax nodes and no delegate state,
// since there is none. It returns the number of nodes that follow.
func checkStates(dec *msgpack.Decoder) (nodes uint64, err error) {
	fields, err := dec.DecodeMapLen()
	if err != nil || fields != 3 {
		return 0, errBadOpening
	}
	most := map[string]uint64{"Nodes": gossipNodesMax, "UserStateLen": 0}
	for range fields {
		name, err := fieldName(dec)
		if err != nil {
			return 0, err
		}
		if limit, found := most[name]; found {
			n, err := dec.DecodeUint64()
			if err != nil || n > limit {
				return 0, fmt.Errorf("%w: %s is %d, and at most %d is taken", errBadOpening, name, n, limit)
			}
			nodes = max(nodes, n) // of the other there is none
			delete(most, name)
			continue
		}
		if _, err := dec.DecodeBool(); err != nil || name != "Join" {
			return 0, errBadOpening
		}
	}
	if len(most) > 0 {
		return 0, errBadOpening
	}
	return nodes, nil
}

// fieldName reads a field's name. DecodeString would first make room for as many bytes as a name
// announces.
func fieldName(dec *msgpack.Decoder) (string, error) {
	n, err := dec.DecodeBytesLen()
	if err != nil || n < 0 || n > len("UserStateLen") {
		return "", errBadOpening
	}
	name := make([]byte, n)
	if err := dec.ReadFull(name); err != nil {
		return "", errBadOpening
	}
	return string(name), nil
}
