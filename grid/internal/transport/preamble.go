package transport

import (
	"errors"
	"io"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// Every Raft stream opens, inside TLS if there is any, with the dialer's preamble, without a reply:
// streams for another listener are closed.
//
//	+---------+----------+----------+----------+--------+------------------+
//	| S N O W | protocol | grid ID  | claim    | length | target server ID | release
//	| 4 bytes | 1 byte   | 16 bytes | 16 bytes | 1 byte | 1 to 255 bytes   |
//	+---------+----------+----------+----------+--------+------------------+
//
// The claim is that of an anchored grid's roster; zero in other grids. The release is the dialer's, in
// the form that a gossip greeting has. So a message counts only if it is addressed to this grid and
// this incarnation: a process that has taken over an address receives nothing.
const (
	raftProtocol = 0x22
	serverIDMax  = 255
)

var errNotPreamble = errors.New("grid: the stream does not open with a Raft preamble")

// Releases compares the releases of servers. Its methods may be called from any goroutine.
type Releases interface {
	// Own returns the release of this process.
	Own() roster.Release
	// Admit returns nil if a stream of a server of a release is taken.
	Admit(theirs roster.Release) error
}

// Preamble opens a Raft stream: it names the grid and the server that the stream is for.
type Preamble struct {
	Grid    [16]byte
	Claim   [16]byte // zero: none
	Target  string
	Release roster.Release // of the dialer
}

// Encode returns the preamble as it is sent.
func (p Preamble) Encode() []byte {
	b := append(make([]byte, 0, len(greetingMagic)+1+2*len(p.Grid)+1+len(p.Target)), greetingMagic...)
	b = append(append(append(b, raftProtocol), p.Grid[:]...), p.Claim[:]...)
	b = append(append(b, byte(len(p.Target))), p.Target...)
	return appendRelease(b, p.Release)
}

// readPreamble takes exactly one preamble off r.
func readPreamble(r io.Reader) (Preamble, error) {
	var p Preamble
	var head [len(greetingMagic) + 1 + len(p.Grid) + len(p.Claim) + 1]byte
	if _, err := io.ReadFull(r, head[:len(greetingMagic)+1]); err != nil {
		return Preamble{}, err
	}
	if string(head[:len(greetingMagic)]) != greetingMagic || head[len(greetingMagic)] != raftProtocol {
		return Preamble{}, errNotPreamble
	}
	rest := head[len(greetingMagic)+1:]
	if _, err := io.ReadFull(r, rest); err != nil {
		return Preamble{}, err
	}
	copy(p.Grid[:], rest)
	copy(p.Claim[:], rest[len(p.Grid):])
	target := make([]byte, rest[len(rest)-1])
	if len(target) == 0 {
		return Preamble{}, errNotPreamble
	}
	if _, err := io.ReadFull(r, target); err != nil {
		return Preamble{}, err
	}
	p.Target = string(target)
	var err error
	if p.Release, err = readRelease(r); err != nil {
		return Preamble{}, err
	}
	return p, nil
}
