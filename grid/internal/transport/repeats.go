package transport

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
)

// Raft servers in an idle grid repeat nearly the same messages: a 260-byte heartbeat, and its reply.
// So a stream between servers with this release refers back to recent messages. Each write is a
// message, in either direction:
//
//	+----------------+-------------+
//	| k = 1 to 8     |             |  the k-th place of the ring once more
//	+----------------+-------------+
//	| 8 + its length | the message |  one of up to 1,024 bytes takes the next place
//	+----------------+-------------+
//
// The number is an unsigned varint.
const (
	repeatPlaces = 8
	repeatMost   = 1024
)

var errNoRepeat = errors.New("grid: the Raft stream repeats a message that it has not carried")

// repeatRing has the last messages of one direction of a stream.
type repeatRing struct {
	of   [repeatPlaces][]byte
	next int
}

// note puts a message into the ring if it is small.
func (r *repeatRing) note(message []byte) {
	r.of[r.next] = append(r.of[r.next][:0], message...)
	r.next = (r.next + 1) % repeatPlaces
}

// repeating is a stream on which repeated messages are sent in short. One goroutine at a time
// reads it, and one writes.
type repeating struct {
	net.Conn
	from           *bufio.Reader
	read, written  repeatRing
	left           uint64 // bytes still to come of the message that is read
	keeps          bool   // that one goes into the ring
	partial, again []byte // its part that has come; the rest of a repeated one
	out            []byte
}

func newRepeating(c net.Conn) *repeating {
	return &repeating{Conn: c, from: bufio.NewReader(c)}
}

// Read implements net.Conn. It returns bytes of one message at most.
func (c *repeating) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	for c.left == 0 && len(c.again) == 0 {
		if err := c.begin(); err != nil {
			return 0, err
		}
	}
	if len(c.again) > 0 {
		n := copy(b, c.again)
		c.again = c.again[n:]
		return n, nil
	}
	n, err := c.from.Read(b[:min(uint64(len(b)), c.left)])
	c.left -= uint64(n)
	if c.keeps {
		c.partial = append(c.partial, b[:n]...)
		if c.left == 0 {
			c.read.note(c.partial)
		}
	}
	if errors.Is(err, io.EOF) && c.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// begin reads the number before a message.
func (c *repeating) begin() error {
	number, err := binary.ReadUvarint(c.from)
	if err != nil {
		return err
	}
	if number == 0 || number <= repeatPlaces && len(c.read.of[number-1]) == 0 {
		return errNoRepeat
	}
	if number <= repeatPlaces {
		c.again = c.read.of[number-1]
		return nil
	}
	c.left = number - repeatPlaces
	c.keeps, c.partial = c.left <= repeatMost, c.partial[:0]
	return nil
}

func (c *repeating) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	for i, earlier := range c.written.of {
		if bytes.Equal(earlier, b) {
			return c.send(binary.AppendUvarint(c.out[:0], uint64(i+1)), len(b))
		}
	}
	head := binary.AppendUvarint(c.out[:0], uint64(len(b))+repeatPlaces)
	if len(b) <= repeatMost {
		c.written.note(b)
		return c.send(append(head, b...), len(b))
	}
	if _, err := c.Conn.Write(head); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// send sends all of a message of some length.
func (c *repeating) send(coded []byte, length int) (int, error) {
	c.out = coded
	if _, err := c.Conn.Write(coded); err != nil {
		return 0, err
	}
	return length, nil
}
