package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/acceptor"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// Every gossip stream opens with a greeting from each side, the dialer's first:
//
//	+---------+----------+--------+---------------+--------+--------+--------+---------------+
//	| S N O W | protocol | length | name          | oldest | latest | length | build         |
//	| 4 bytes | 1 byte   | 1 byte | 0 - 255 bytes | 1 byte | 1 byte | 1 byte | 0 to 64 bytes |
//	+---------+----------+--------+---------------+--------+--------+--------+---------------+
//
// The name is the sender's grid name, followed by the protocols that its release supports, and its
// build. A listener from another grid, or without a common protocol, replies too and then closes, so
// that the dialer can distinguish a wrong Join from a dead member. Later releases keep this form.
const (
	greetingMagic = "SNOW"
	gridNameMax   = 255

	// gossipProtocol is the number in a greeting.
	gossipProtocol = 0x12
)

var errNotGreeting = errors.New("grid: the stream does not open with a snowgrid greeting")

// RefusedError reports that the member at an address differs from this one. The report is unauthenticated.
type RefusedError struct {
	By   Difference
	Addr string // the address that was dialed
	text string
}

// Error names the address, both sides and the remedy.
func (e *RefusedError) Error() string { return e.text }

// Difference names a setting in which two members differ.
type Difference int

// The differences of members.
const (
	ByName    Difference = iota // of their grids
	ByRelease                   // they have no protocol in common
	ByKey                       // of gossip, or only one side has one
)

// Greeting opens one side of a gossip stream.
type Greeting struct {
	Name    string
	Release roster.Release
}

// Encode returns the greeting as it is sent.
func (g Greeting) Encode() []byte {
	b := append(make([]byte, 0, len(greetingMagic)+5+len(g.Name)+len(g.Release.Build)), greetingMagic...)
	b = append(append(b, gossipProtocol, byte(len(g.Name))), g.Name...)
	return appendRelease(b, g.Release)
}

// appendRelease appends the form of a release in greetings and preambles.
func appendRelease(b []byte, r roster.Release) []byte {
	b = append(b, byte(r.Min.Known()), byte(r.Max.Known()), byte(len(r.Build)))
	return append(b, r.Build...)
}

func readRelease(r io.Reader) (roster.Release, error) {
	var head [3]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return roster.Release{}, err
	}
	out := roster.Release{Min: roster.Protocol(head[0]), Max: roster.Protocol(head[1])}
	if head[0] == 0 || head[2] > roster.MaxBuild {
		return out, errNotGreeting
	}
	build := make([]byte, head[2])
	if _, err := io.ReadFull(r, build); err != nil {
		return out, err
	}
	out.Build = string(build)
	return out, out.Check()
}

// readGreeting takes exactly one greeting off r. One with a number that no release has had
// so far is taken as far as the name, with a release that has no protocol in common.
func readGreeting(r io.Reader) (Greeting, error) {
	var head [len(greetingMagic) + 2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Greeting{}, err
	}
	if !bytes.HasPrefix(head[:], []byte(greetingMagic)) {
		return Greeting{}, errNotGreeting
	}
	name := make([]byte, head[len(greetingMagic)+1])
	if _, err := io.ReadFull(r, name); err != nil {
		return Greeting{}, err
	}
	g := Greeting{Name: string(name)}
	var err error
	if number := head[len(greetingMagic)]; number != gossipProtocol {
		return g, fmt.Errorf("%w: it has number %#x, and this release knows %#x; join gossip addresses, and run releases "+
			"that work together",
			errNotGreeting, number, gossipProtocol)
	}
	g.Release, err = readRelease(r)
	return g, err
}

// Refusal returns the last discovery that an address belongs to another grid, or to a release without
// a common protocol; nil if none did. memberlist's Join flattens errors to text, so callers use this
// method. A later success at the same address clears it.
func (t *Gossip) Refusal() *RefusedError {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refused
}

// DialTimeout implements memberlist.Transport. The error is a *[RefusedError] if a member of another grid
// answers, or of a release that this one does not work with.
func (t *Gossip) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(t.ctx, timeout)
	defer cancel()
	conn, err := t.cfg.Network.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	if err := t.introduce(ctx, conn, addr); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return &gossipStream{Conn: conn, of: t, dialed: addr}, nil
}

// introduce is the dialer's half of the greeting.
func (t *Gossip) introduce(ctx context.Context, conn net.Conn, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, acceptor.Timeout)
	defer cancel()
	interrupt := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	var theirs Greeting
	_, err := conn.Write(Greeting{Name: t.cfg.Grid, Release: t.cfg.Release}.Encode())
	if err == nil {
		theirs, err = readGreeting(conn)
	}
	if !interrupt() && err == nil {
		err = ctx.Err() // the deadline in the past stays on the stream
	}
	if err != nil {
		return fmt.Errorf("grid: greeting with %s: is it a gossip address, and no API or Raft address? %w", addr, err)
	}
	return t.judge(addr, theirs)
}

// judge refuses another grid, and a release that has no protocol in common.
func (t *Gossip) judge(addr string, theirs Greeting) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if theirs.Name != t.cfg.Grid {
		t.refused = &RefusedError{ByName, addr, fmt.Sprintf("grid: a member at %s belongs to grid %q, this member is "+
			"configured for grid %q: set the same Name (--name) or fix Join (--join)", addr, theirs.Name, t.cfg.Grid)}
		return t.refused
	}
	if err := t.cfg.Release.Meets(theirs.Release); err != nil {
		t.refused = &RefusedError{ByRelease, addr, fmt.Sprintf("grid: the member at %s: %v", addr, err)}
		return t.refused
	}
	if t.refused != nil && t.refused.Addr == addr {
		t.refused = nil
	}
	return nil
}

// welcome is the listener's half of the greeting. It replies to every greeting, and keeps only
// streams from its own grid and from compatible releases.
func (t *Gossip) welcome(conn net.Conn) (net.Conn, error) {
	theirs, err := readGreeting(conn)
	if err != nil && !errors.Is(err, errNotGreeting) {
		return nil, err
	}
	unfit := err
	if err == nil {
		unfit = t.cfg.Release.Meets(theirs.Release)
	}
	if theirs.Name == "" && err != nil { // not of snowgrid at all
		return nil, err
	}
	if _, err := conn.Write(Greeting{Name: t.cfg.Grid, Release: t.cfg.Release}.Encode()); err != nil {
		return nil, err
	}
	if unfit != nil || theirs.Name != t.cfg.Grid {
		return nil, errNotGreeting
	}
	limited := t.limit.wrap(conn)
	limited.admit()
	return &gossipStream{Conn: limited, of: t}, nil
}
