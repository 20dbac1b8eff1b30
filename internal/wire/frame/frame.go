// Package frame encodes the frames of a connection between two Go processes of snowgrid. The
// connection begins as an HTTP/1.1 request that is upgraded (see package internal/frames).
//
// Each frame is a header of [HeaderSize] bytes and a payload. Integers are big endian.
//
//	| 4 length of the payload | 4 number | 1 kind | 1 flags | payload |
//
// The number names an exchange: one request and its answer, or one event stream. The process
// that opened the connection counts them up from 1. Frames of several exchanges may alternate.
//
//	kind      from    payload
//	Request   caller  a head, see [Head], and the first bytes of the body
//	Continue  member  nothing: the rest of the body may come
//	Data      both    more of a body
//	Answer    member  2 status, and the first bytes of the body
//	Cancel    caller  nothing: the caller no longer waits
//	Ping      both    nothing; answered with Pong. The number is 0
//
// The last Answer or Data of an answer has the flag [Last]. A request states the length of its
// body instead, and sends at most [Inline] bytes of it before Continue: a member reads large
// bodies in turns.
package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Protocol is the name of the protocol in the Upgrade header.
const Protocol = "snowgrid-frames"

// Path is the path of the upgrade.
const Path = "/v1/frames"

// Bounds of frames.
const (
	HeaderSize = 10
	// Inline bounds the body bytes in a request's first frame.
	Inline = 4608
	// Chunk bounds the body bytes in each further frame.
	Chunk      = 16 << 10
	maxHead    = 2 + 8 + 4*(1+255) + 256 // with room for fields of a later release
	statusSize = 2
)

// Kind is the kind of a frame.
type Kind uint8

// The kinds of frames.
const (
	Request Kind = iota + 1
	Continue
	Data
	Answer
	Cancel
	Ping
	Pong
)

// Last is the flag of the last frame of an answer.
const Last = 1

// ErrMalformed reports that bytes are not a frame. The connection ends.
var ErrMalformed = errors.New("frame: malformed")

// Header begins each frame.
type Header struct {
	Length uint32 // of the payload
	Number uint32
	Kind   Kind
	Flags  uint8
}

// longest is the longest payload of each kind.
var longest = [...]uint32{Request: maxHead + Inline, Continue: 0, Data: Chunk, Answer: statusSize + Chunk, Cancel: 0,
	Ping: 0, Pong: 0}

// AppendHeader appends a header.
func AppendHeader(b []byte, h Header) []byte {
	b = binary.BigEndian.AppendUint32(b, h.Length)
	b = binary.BigEndian.AppendUint32(b, h.Number)
	return append(b, byte(h.Kind), h.Flags)
}

// ParseHeader reads a header of HeaderSize bytes. Errors match ErrMalformed.
func ParseHeader(b []byte) (Header, error) {
	if len(b) != HeaderSize {
		return Header{}, fmt.Errorf("%w: a header of %d bytes; it has %d", ErrMalformed, len(b), HeaderSize)
	}
	h := Header{Length: binary.BigEndian.Uint32(b), Number: binary.BigEndian.Uint32(b[4:]), Kind: Kind(b[8]), Flags: b[9]}
	switch {
	case h.Kind < Request || h.Kind > Pong:
		return h, fmt.Errorf("%w: unknown kind %d", ErrMalformed, h.Kind)
	case h.Length > longest[h.Kind]:
		return h, fmt.Errorf("%w: %d bytes of kind %d; the limit is %d", ErrMalformed, h.Length, h.Kind, longest[h.Kind])
	case h.Flags > Last || h.Flags == Last && h.Kind != Answer && h.Kind != Data:
		return h, fmt.Errorf("%w: flags %#x of kind %d", ErrMalformed, h.Flags, h.Kind)
	case (h.Number == 0) != (h.Kind >= Ping):
		return h, fmt.Errorf("%w: number %d of kind %d", ErrMalformed, h.Number, h.Kind)
	}
	return h, nil
}

// Head is a request's destination, like the path and headers in HTTP.
type Head struct {
	Path                string
	Target, Grid, Claim string // of a call between members; "" = not stated
	Timeout             uint32 // milliseconds that the caller waits; 0 = not stated
	Length              uint32 // bytes of the whole body
}

// AppendHead appends a head:
//
//	| 2 size of the rest | 4 timeout | 4 length | path | target | grid | claim |
//
// Each text has its length in one byte before it. A later release may add fields at the end.
// Errors match ErrMalformed.
func AppendHead(b []byte, h Head) ([]byte, error) {
	size := 8
	for _, text := range [...]string{h.Path, h.Target, h.Grid, h.Claim} {
		if len(text) > 255 {
			return b, fmt.Errorf("%w: %.40q has %d bytes; the limit is 255", ErrMalformed, text, len(text))
		}
		size += 1 + len(text)
	}
	b = binary.BigEndian.AppendUint16(b, uint16(size))
	b = binary.BigEndian.AppendUint32(b, h.Timeout)
	b = binary.BigEndian.AppendUint32(b, h.Length)
	for _, text := range [...]string{h.Path, h.Target, h.Grid, h.Claim} {
		b = append(append(b, byte(len(text))), text...)
	}
	return b, nil
}

// ParseHead parses a head, and returns the bytes after it. text returns the string of some bytes, which
// need not be a new one. Errors match ErrMalformed.
func ParseHead(b []byte, text func([]byte) string) (h Head, rest []byte, err error) {
	if len(b) < 2 {
		return h, nil, fmt.Errorf("%w: a request without a head", ErrMalformed)
	}
	size := int(binary.BigEndian.Uint16(b))
	b = b[2:]
	if size < 8 || size > len(b) || size > maxHead-2 {
		return h, nil, fmt.Errorf("%w: a head of %d bytes, in %d", ErrMalformed, size, len(b))
	}
	fields, rest := b[:size], b[size:]
	h.Timeout, h.Length = binary.BigEndian.Uint32(fields), binary.BigEndian.Uint32(fields[4:])
	fields = fields[8:]
	for _, of := range [...]*string{&h.Path, &h.Target, &h.Grid, &h.Claim} {
		if len(fields) == 0 || len(fields) <= int(fields[0]) {
			return h, nil, fmt.Errorf("%w: a head that ends early", ErrMalformed)
		}
		if n := 1 + int(fields[0]); n > 1 {
			*of, fields = text(fields[1:n]), fields[n:]
		} else {
			fields = fields[1:]
		}
	}
	if len(rest) > Inline || len(rest) != int(min(h.Length, Inline)) {
		return h, nil, fmt.Errorf("%w: %d bytes with the head of a body of %d", ErrMalformed, len(rest), h.Length)
	}
	return h, rest, nil
}

// AppendStatus appends the status of an answer.
func AppendStatus(b []byte, status int) []byte {
	return binary.BigEndian.AppendUint16(b, uint16(status))
}

// ParseStatus parses a reply's status, and returns the bytes after it. Errors match ErrMalformed.
func ParseStatus(b []byte) (status int, rest []byte, err error) {
	if len(b) < statusSize {
		return 0, nil, fmt.Errorf("%w: an answer without a status", ErrMalformed)
	}
	return int(binary.BigEndian.Uint16(b)), b[statusSize:], nil
}
