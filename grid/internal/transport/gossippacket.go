package transport

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"
)

// memberlist orders the messages about a node by a number that the node raises to refute
// an accusation. An accusation with the last number there is makes it start from 0
// again, and no member accepts its messages any longer. So a datagram with a number that no
// member reaches is dropped here, whether it was sealed or in clear text.
const (
	// accusedMax bounds an accusation's number, and aliveMax a refutation's. A member raises its number by
	// one for each, and for each announcement.
	accusedMax = 1 << 30
	aliveMax   = 1 << 31
)

// More of memberlist's messages.
const (
	gossipSuspect  = 3
	gossipAlive    = 4
	gossipDead     = 5
	gossipCompound = 7
	gossipChecked  = 12 // a checksum of 4 bytes, and a message
)

var errBadPacket = errors.New("grid: the gossip datagram has content that no member sends")

// checkPacket refuses the content of a datagram that no member sends. news reports whether it
// has a message about a node that others pass on.
func checkPacket(b []byte) (news bool, err error) {
	b, err = unlabelled(b)
	if err != nil {
		return false, err
	}
	if len(b) > 5 && b[0] == gossipChecked {
		b = b[5:]
	}
	if len(b) == 0 || b[0] != gossipCompound {
		return isNews(b), checkGossip(b)
	}
	messages, err := compounded(b[1:])
	for _, message := range messages {
		news = news || isNews(message)
		err = errors.Join(err, checkGossip(message))
	}
	return news, err
}

func isNews(b []byte) bool {
	return len(b) > 0 && (b[0] == gossipSuspect || b[0] == gossipAlive || b[0] == gossipDead)
}

func unlabelled(b []byte) ([]byte, error) {
	if len(b) == 0 || b[0] != gossipLabel {
		return b, nil
	}
	if len(b) < 2 || len(b) < 2+int(b[1]) {
		return nil, errBadPacket
	}
	return b[2+int(b[1]):], nil
}

func compounded(b []byte) ([][]byte, error) {
	if len(b) < 1 || len(b) < 1+2*int(b[0]) {
		return nil, errBadPacket
	}
	lengths, rest := b[1:1+2*int(b[0])], b[1+2*int(b[0]):]
	var out [][]byte
	for ; len(lengths) > 0; lengths = lengths[2:] {
		n := int(binary.BigEndian.Uint16(lengths))
		if n > len(rest) {
			return nil, errBadPacket
		}
		out, rest = append(out, rest[:n]), rest[n:]
	}
	return out, nil
}

// checkGossip checks one message. A compressed or compound message inside another one is
// sent only to hide it.
func checkGossip(b []byte) error {
	if len(b) == 0 {
		return errBadPacket
	}
	switch b[0] {
	case gossipSuspect, gossipDead:
		return checkNumber(b[1:], accusedMax)
	case gossipAlive:
		return checkNumber(b[1:], aliveMax)
	case gossipCompound, gossipCompressed, gossipChecked, gossipUser:
		return errBadPacket
	}
	if len(b) == 1 || !isDecoded(b[0]) {
		return nil
	}
	_, err := readNumbers(msgpack.NewDecoder(bytes.NewReader(b[1:])))
	return err
}

// isDecoded reports whether memberlist decodes a message of a kind. It opens a sealed one, or
// refuses it, and refuses an unknown one.
func isDecoded(kind byte) bool { return kind <= gossipError && kind != gossipEncrypted }

func checkNumber(b []byte, most uint64) error {
	numbers, err := readNumbers(msgpack.NewDecoder(bytes.NewReader(b)))
	if err != nil {
		return err
	}
	return numbers.check(most)
}

func checkState(dec *msgpack.Decoder) error {
	numbers, err := readNumbers(dec)
	switch {
	case err != nil:
		return err
	case numbers.accuses:
		return numbers.check(accusedMax)
	}
	return numbers.check(aliveMax)
}

type gossipNumbers struct {
	number  uint64
	accuses bool // the message reports the node as not alive
}

func (n gossipNumbers) check(most uint64) error {
	if n.number > most {
		return fmt.Errorf("%w: the number of a message is %d, and at most %d is taken", errBadPacket, n.number, most)
	}
	return nil
}

// readNumbers reads a message about a node. The largest counts of a number that comes
// more than once.
func readNumbers(dec *msgpack.Decoder) (out gossipNumbers, err error) {
	fields, err := dec.DecodeMapLen()
	if err != nil || fields < 0 || fields > gossipFieldsMax {
		return out, errBadPacket
	}
	for range fields {
		name, err := fieldName(dec)
		if err != nil {
			return out, errBadPacket
		}
		if name != "Incarnation" && name != "State" {
			if skipValue(dec) != nil {
				return out, errBadPacket
			}
			continue
		}
		n, err := dec.DecodeUint64()
		switch {
		case err != nil:
			return out, errBadPacket
		case name == "Incarnation":
			out.number = max(out.number, n)
		default:
			out.accuses = out.accuses || n != 0
		}
	}
	return out, nil
}

// skipValue skips a field's value. No member sends nested lists or maps, and decoders allocate for
// each nesting level, even in unknown fields.
func skipValue(dec *msgpack.Decoder) error {
	c, err := dec.PeekCode()
	switch {
	case err != nil:
		return err
	case 0x80 <= c && c <= 0x9f, 0xdc <= c && c <= 0xdf: // lists and maps
		return errBadPacket
	}
	return dec.Skip()
}

// gossipFieldsMax is more than any message about a node has.
const gossipFieldsMax = 16
