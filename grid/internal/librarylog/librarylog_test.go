package librarylog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

// TestReportsOfAKind: the first is logged, then one a minute with the number of those
// left out, and the memory is bounded.
func TestReportsOfAKind(t *testing.T) {
	var r reports
	wants := func(kind string, now time.Duration, omitted int, admitted bool) {
		t.Helper()
		if o, a := r.admit(kind, now); o != omitted || a != admitted {
			t.Errorf("%s at %v: %d omitted, admitted %v; want %d, %v", kind, now, o, a, omitted, admitted)
		}
	}
	wants("a", 5*time.Second, 0, true)
	wants("a", 6*time.Second, 0, false)
	wants("b", 6*time.Second, 0, true)
	wants("a", 5*time.Second+reportEvery-1, 0, false)
	wants("a", 5*time.Second+reportEvery, 2, true)
	wants("a", 6*time.Second+reportEvery, 0, false)
	wants("a", 9*reportEvery, 1, true)
	for i := range 10 * reportKinds {
		r.admit(fmt.Sprint("kind ", i), 10*reportEvery+time.Duration(i))
	}
	if len(r.kinds) > reportKinds {
		t.Errorf("%d kinds are known", len(r.kinds))
	}
	wants(fmt.Sprint("kind ", 10*reportKinds-1), 10*reportEvery+20*reportKinds, 0, false)
}

func TestKindOf(t *testing.T) {
	one := kindOf(`failed to make requestVote RPC target={Voter 1a2b 10.0.0.1:7947} error=x509: certificate signed by unknown authority term=7`)
	two := kindOf(`failed to make requestVote RPC target={Voter 77ab 10.0.0.9:7947} error=x509: certificate signed by unknown authority term=8`)
	other := kindOf(`failed to make requestVote RPC target={Voter 1a2b 10.0.0.1:7947} error=connection refused term=7`)
	if one != two || one == other {
		t.Errorf("%q, %q and %q", one, two, other)
	}
}

// kept is a slog handler that keeps every record as a line.
type kept struct{ lines *[]string }

func (k kept) Enabled(context.Context, slog.Level) bool { return true }
func (k kept) WithAttrs([]slog.Attr) slog.Handler       { return k }
func (k kept) WithGroup(string) slog.Handler            { return k }
func (k kept) Handle(_ context.Context, r slog.Record) error {
	line := r.Level.String() + " " + r.Message
	r.Attrs(func(a slog.Attr) bool { line += fmt.Sprintf(" %s=%v", a.Key, a.Value); return true })
	*k.lines = append(*k.lines, line)
	return nil
}

// TestLibraryLevels: an error of a library is a warning here, its warning is for
// information, and the rest is for debugging.
func TestLibraryLevels(t *testing.T) {
	var lines []string
	now := time.Duration(0)
	l := &Log{log: slog.New(kept{&lines}), mono: func() time.Duration { return now }}
	wants := func(want string) {
		t.Helper()
		if got := strings.Join(lines, "\n"); got != want {
			t.Errorf("logged %q, want %q", got, want)
		}
		lines = nil
	}
	raft := l.Raft()
	raft.Error("failed to heartbeat to", "peer", "10.0.0.1:1", "error", errors.New("x509: expired"), "cmd",
		hclog.Fmt("%d-%d", 1, 2))
	wants("WARN raft error reported detail=failed to heartbeat to peer=10.0.0.1:1 error=x509: expired cmd=1-2")
	raft.Error("failed to heartbeat to", "peer", "10.0.0.2:1", "error", errors.New("x509: expired"), "cmd",
		hclog.Fmt("%d-%d", 3, 4))
	wants("")
	raft.Error("failed to heartbeat to", "peer", "10.0.0.2:1", "error", errors.New("connection refused"))
	wants("WARN raft error reported detail=failed to heartbeat to peer=10.0.0.2:1 error=connection refused")
	raft.Warn("heartbeat timeout reached, starting election")
	wants("DEBUG raft message detail=heartbeat timeout reached, starting election")
	raft.Error("failed to decode incoming command", "error", fmt.Errorf("read: %w", net.ErrClosed))
	wants("DEBUG raft message detail=failed to decode incoming command error=read: use of closed network connection")
	raft.Info("entering leader state", "leader", "x")
	wants("DEBUG raft message detail=entering leader state leader=x")
	raft.Debug("vote granted")
	wants("")
	now = reportEvery
	raft.Error("failed to heartbeat to", "peer", "10.0.0.1:1", "error", errors.New("x509: expired"), "cmd",
		hclog.Fmt("%d-%d", 5, 6))
	wants("WARN raft error reported detail=failed to heartbeat to peer=10.0.0.1:1 error=x509: expired cmd=5-6 " +
		"similar_omitted=1")

	gossip := l.Lines("gossip")
	gossip.Printf("[ERR] memberlist: failed to receive: No installed keys could decrypt the message from=127.0.0.1:%d", 1)
	wants("WARN gossip error reported detail=memberlist: failed to receive: No installed keys could decrypt the message " +
		"from=127.0.0.1:1")
	gossip.Printf("[ERR] memberlist: failed to receive: No installed keys could decrypt the message from=127.0.0.1:%d", 2)
	wants("")
	gossip.Print("[WARN] memberlist: Refuting a suspect message (from: a)")
	wants("INFO gossip warning reported detail=memberlist: Refuting a suspect message (from: a)")
	gossip.Print("[DEBUG] memberlist: Stream connection from=[::1]:5")
	wants("DEBUG gossip message detail=memberlist: Stream connection from=[::1]:5")
	for line, want := range map[string]string{
		"2026-11-22T10:00:00.000Z [ERROR] snapshot: failed to sync": "WARN http error reported detail=snapshot: " +
			"failed to sync",
		"[INFO]  snapshot: reaping": "DEBUG http message detail=snapshot: reaping",
		"http: TLS handshake error from 10.0.0.1:5: EOF": "DEBUG http message detail=http: TLS handshake " +
			"error from 10.0.0.1:5: EOF",
		"http: TLS handshake error from [::1]:5: tls: bad certificate": "WARN http error reported detail=http: TLS " +
			"handshake error from [::1]:5: tls: bad certificate",
		"http: panic serving 10.0.0.1:5: boom": "WARN http error reported detail=http: panic " +
			"serving 10.0.0.1:5: boom",
		"http: response.WriteHeader on hijacked connection from [x] other": "DEBUG http message detail=http: " +
			"response.WriteHeader on hijacked connection from [x] other",
	} {
		_, _ = l.Writer("http").Write([]byte(line + "\n"))
		wants(want)
	}
}
