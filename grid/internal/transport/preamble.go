package transport

import (
	"bytes"
	"errors"
	"io"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// Every Raft stream opens, inside TLS if there is any, with the dialer's preamble, without a reply:
// streams for another listener are closed.
//
//	+---------+----------+----------+--------------+--------+------------------+
//	| S N O W | protocol | grid ID  | claim        | length | target server ID |
//	| 4 bytes | 1 byte   | 16 bytes | 0 / 16 bytes | 1 byte | 1 to 255 bytes   |
//	+---------+----------+----------+--------------+--------+------------------+
//
// Servers in an anchored grid state their roster's claim, under a separate number. A server with
// protocol 2 states its release, as a gossip greeting does, under a third number with a 16-byte claim,
// zero for none. A fourth number marks a stream with abbreviated repeats (repeats.go); servers from
// protocol 3 on accept it. So a message counts only if it is addressed to this grid and this
// incarnation: a process that has taken over an address receives nothing.
const (
	raftProtocol    = 0x21
	claimProtocol   = 0x22 // with a claim
	releaseProtocol = 0x23 // with a claim and a release
	repeatProtocol  = 0x24 // the same, and repeated messages are sent in short
	serverIDMax     = 255
)

var errNotPreamble = errors.New("grid: the stream does not open with a Raft preamble")

// Releases maps servers to their releases. Its methods may be called from any goroutine.
type Releases interface {
	// Own returns the release of this process.
	Own() roster.Release
	// At returns the release of the server at an address; zero for protocol 1 or an unknown server.
	At(hostPort string) roster.Release
	// Admit returns nil if a stream of a server of a release is taken.
	Admit(theirs roster.Release) error
}

// NoReleases belongs to a protocol 1 server: it accepts every stream.
type NoReleases struct{}

// Own implements Releases.
func (NoReleases) Own() roster.Release { return roster.Release{} }

// At implements Releases.
func (NoReleases) At(string) roster.Release { return roster.Release{} }

// Admit implements Releases.
func (NoReleases) Admit(roster.Release) error { return nil }

// Preamble opens a Raft stream: it names the grid and the server that the stream is for.
type Preamble struct {
	Grid    [16]byte
	Claim   [16]byte // zero: none
	Target  string
	Release roster.Release // of the dialer; zero: not stated
	// Repeats abbreviates repeated messages; only with a release.
	Repeats bool
}

// Encode returns the preamble as it is sent.
func (p Preamble) Encode() []byte {
	b := append(make([]byte, 0, len(greetingMagic)+1+2*len(p.Grid)+1+len(p.Target)), greetingMagic...)
	stated := p.Release != (roster.Release{})
	switch {
	case stated && p.Repeats:
		b = append(append(append(b, repeatProtocol), p.Grid[:]...), p.Claim[:]...)
	case stated:
		b = append(append(append(b, releaseProtocol), p.Grid[:]...), p.Claim[:]...)
	case p.Claim == [16]byte{}:
		b = append(append(b, raftProtocol), p.Grid[:]...)
	default:
		b = append(append(append(b, claimProtocol), p.Grid[:]...), p.Claim[:]...)
	}
	b = append(append(b, byte(len(p.Target))), p.Target...)
	if stated {
		b = appendRelease(b, p.Release)
	}
	return b
}

// readPreamble takes exactly one preamble off r.
func readPreamble(r io.Reader) (Preamble, error) {
	var p Preamble
	var head [len(greetingMagic) + 1 + len(p.Grid) + 1]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Preamble{}, err
	}
	rest, ok := bytes.CutPrefix(head[:], []byte(greetingMagic))
	if !ok || rest[0] < raftProtocol || rest[0] > repeatProtocol {
		return Preamble{}, errNotPreamble
	}
	copy(p.Grid[:], rest[1:])
	length := rest[1+len(p.Grid)]
	if rest[0] != raftProtocol {
		var more [len(p.Claim)]byte // the claim's first byte was read already
		if _, err := io.ReadFull(r, more[:]); err != nil {
			return Preamble{}, err
		}
		p.Claim[0] = length
		length = more[copy(p.Claim[1:], more[:])]
		if rest[0] == claimProtocol && p.Claim == ([16]byte{}) {
			return Preamble{}, errNotPreamble
		}
	}
	target := make([]byte, length)
	if len(target) == 0 {
		return Preamble{}, errNotPreamble
	}
	if _, err := io.ReadFull(r, target); err != nil {
		return Preamble{}, err
	}
	p.Target = string(target)
	if rest[0] < releaseProtocol {
		return p, nil
	}
	p.Repeats = rest[0] == repeatProtocol
	release, err := readRelease(r)
	if err != nil {
		return Preamble{}, err
	}
	p.Release = release
	return p, nil
}
