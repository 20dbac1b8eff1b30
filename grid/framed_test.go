package grid_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/attachment"
	certificates "github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/calls/overhttp"
	"github.com/snowgrid/snowgrid/internal/faultproxy"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/token"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
	"github.com/snowgrid/snowgrid/internal/wire/member"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

const upgrade = "GET " + frame.Path + " HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: " + frame.Protocol +
	"\r\n\r\n"

// manyFrames is a connection that is upgraded, and n requests to a path of which each states a
// body of the given length.
func manyFrames(path string, n, length int) []byte {
	out := []byte(upgrade)
	for i := range n {
		head, _ := frame.AppendHead(nil, frame.Head{Path: path, Length: uint32(length)})
		head = append(head, strings.Repeat(" ", min(length, frame.Inline))...)
		out = frame.AppendHeader(out, frame.Header{Length: uint32(len(head)), Number: uint32(i + 1), Kind: frame.Request})
		out = append(out, head...)
	}
	return out
}

// manyCancels is a connection that is upgraded, and n requests of which each is given up immediately.
func manyCancels(n int) []byte {
	out := []byte(upgrade)
	head, _ := frame.AppendHead(nil, frame.Head{Path: wire.PathDirectory})
	for i := range uint32(n) {
		out = frame.AppendHeader(out, frame.Header{Length: uint32(len(head)), Number: i + 1, Kind: frame.Request})
		out = append(out, head...)
		out = frame.AppendHeader(out, frame.Header{Number: i + 1, Kind: frame.Cancel})
	}
	return out
}

// fillFrames sends the rest of each body that the member asks for, up to most bytes.
func fillFrames(conn net.Conn, most int) {
	in := bufio.NewReader(conn)
	if _, err := http.ReadResponse(in, nil); err != nil {
		return
	}
	var head [frame.HeaderSize]byte
	data := frame.AppendHeader(nil, frame.Header{Length: frame.Chunk, Number: 1, Kind: frame.Data})
	data = append(data, strings.Repeat(" ", frame.Chunk)...)
	for {
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return
		}
		h, err := frame.ParseHeader(head[:])
		if err != nil {
			return
		}
		if _, err := in.Discard(int(h.Length)); err != nil {
			return
		}
		for sent := frame.Inline; h.Kind == frame.Continue && sent+frame.Chunk < most; sent += frame.Chunk {
			binary.BigEndian.PutUint32(data[4:], h.Number)
			if _, err := conn.Write(data); err != nil {
				return
			}
		}
	}
}

// TestFramesAreServedAsHTTP: each call in frames has the answer that it has over HTTP, by every
// role, and all share a connection.
func TestFramesAreServedAsHTTP(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	m, dir := securedOnSockets(t)
	addr, self := m.Addrs().API, m.Status().Answering
	creds := map[string]*security.Credentials{}
	for _, role := range []security.Role{security.Member, security.Holder, security.Reader} {
		c, err := security.Load(security.Config{Dir: dir, Role: role}, role)
		if err != nil {
			t.Fatal(err)
		}
		creds[string(role)] = c
	}
	toMember := func(target, grid string) frame.Head { return frame.Head{Target: target, Grid: grid} }
	var anyone frame.Head
	ours := m.Status().Grid
	for name, c := range map[string]struct {
		path string
		head frame.Head
		in   any
	}{
		"a directory":             {wire.PathDirectory, anyone, wire.DirectoryRequest{}},
		"a create":                {wire.PathCreate, anyone, wire.CreateRequest{Name: "orders"}},
		"an invalid name":         {wire.PathCreate, anyone, wire.CreateRequest{Name: strings.Repeat("x", 1000)}},
		"a large body":            {wire.PathCreate, anyone, wire.CreateRequest{Name: strings.Repeat("x", 100<<10)}},
		"a body beyond the limit": {wire.PathCreate, anyone, wire.CreateRequest{Name: strings.Repeat("x", wire.MaxBody)}},
		"not found":               {wire.PathOpen, anyone, wire.OpenRequest{Name: "none"}},
		"another message":         {wire.PathRenew, anyone, 7},
		"an unknown path":         {"/v1/none", anyone, wire.Done{}},
		"another method":          {wire.PathSettled, anyone, wire.Done{}},
		"hello":                   {wire.PathHello, toMember(self, ours), wire.HelloRequest{}},
		"hello to another":        {wire.PathHello, toMember("another", ours), wire.HelloRequest{}},
		"of another grid":         {wire.PathHeld, toMember(self, "another"), wire.Done{}},
		"no holder of a stream":   {wire.PathEvents, anyone, wire.EventsRequest{}},
		"a stream of a number":    {wire.PathEvents, anyone, 7},
		"no such attach": {wire.PathAttach, anyone, wire.AttachRequest{Holder: "h",
			Claim: wire.Claim{Sequencer: sequencerNamed("none"), ID: attachment.ID{1}}}},
		"an attach of nothing":  {wire.PathAttach, anyone, wire.AttachRequest{}},
		"an attach of number 7": {wire.PathAttach, anyone, 7},
		"a detach of nothing":   {wire.PathDetach, anyone, wire.DetachRequest{}},
		"a detach": {wire.PathDetach, anyone, wire.DetachRequest{Holder: "h", Sequencer: sequencerNamed("none"),
			ID: attachment.ID{1}}},
		"a detach to another": {wire.PathDetach, toMember("another", ours), wire.DetachRequest{}},
		"a large detach": {wire.PathDetach, anyone,
			wire.DetachRequest{Holder: attachment.HolderID(strings.Repeat("x", 4400))}},
		"replicate":              {wire.PathReplicate, toMember(self, ours), member.ReplicateRequest{}},
		"replicate to another":   {wire.PathReplicate, toMember("another", ours), member.ReplicateRequest{}},
		"replicate elsewhere":    {wire.PathReplicate, toMember(self, "another"), member.ReplicateRequest{}},
		"replicate to no member": {wire.PathReplicate, anyone, member.ReplicateRequest{}},
	} {
		for role, creds := range creds {
			framed, plain := calls.NewPool(calls.TCP, creds), overhttp.New(creds, addr)
			ctx, cancel := context.WithTimeout(t.Context(), apiPatience)
			defer cancel()
			c.head.Path = c.path
			overHTTP := func() string { return fmt.Sprint(plain.CallWith(ctx, c.head, c.in, &struct{}{})) }
			overHTTP() // the second create of a name has another answer than the first
			want := overHTTP()
			for range 3 {
				if got := fmt.Sprint(framed.CallWith(ctx, addr, c.head, c.in, &struct{}{})); got != want {
					t.Errorf("%s by a %s: %q in frames, %q over HTTP", name, role, got, want)
				}
			}
			if dials, _ := framed.Dials(); dials != 1 {
				t.Errorf("%s by a %s: %d dials", name, role, dials)
			}
			framed.Close()
			plain.Close()
		}
	}
}

func sequencerNamed(name string) wire.Sequencer {
	return wire.Sequencer{Name: name, Epoch: 1, Nodes: 128, Life: attachment.Life{1}}
}

// TestFramesThroughFaults: a client whose framed connections are cut, slowed and lose answers
// issues IDs again after each fault, over frame. A connection whose garbage announced more
// bytes than come ends when a ping has no answer, after 20 s.
func TestFramesThroughFaults(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	m := startOne(t, nil)
	p, err := faultproxy.Start(m.Addrs().API)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	h := calls.NewPool(calls.TCP, nil)
	defer h.Close()
	for name, f := range map[string]faultproxy.Fault{
		"cut": {Cut: true}, "hang": {Hang: true}, "lost answers": {Lose: 0.3}, "slow": {Delay: 50 * time.Millisecond},
		"garbage": {Garbage: 0.3},
	} {
		call := func(limit time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			return h.Call(ctx, p.Addr(), wire.PathDirectory, wire.DirectoryRequest{}, &wire.DirectoryResponse{})
		}
		p.Set(f)
		for range 10 {
			if err := call(200 * time.Millisecond); err != nil && !errors.Is(err, sequencer.ErrUnavailable) {
				t.Errorf("%s: %v", name, err)
			}
		}
		p.Set(faultproxy.Fault{})
		within(t, 40*time.Second, "a call after "+name, func() bool { return call(2*time.Second) == nil })
	}
	// The HTTP server closes a connection with garbage after a second.
	h.Close()
	p.Close()
	within(t, 10*time.Second, "the end of the connections", func() bool { return m.Stats().Requests.Connections == 0 })
}

// TestUpgradeIsRefused: a request that does not upgrade, or comes from a page, has an answer that says so.
func TestUpgradeIsRefused(t *testing.T) {
	t.Parallel()
	m := startOne(t, nil)
	for name, c := range map[string]struct {
		request string
		status  int
	}{
		"no upgrade":       {"GET " + frame.Path + " HTTP/1.1\r\nHost: localhost\r\n\r\n", http.StatusBadRequest},
		"another protocol": {strings.Replace(upgrade, frame.Protocol, "websocket", 1), http.StatusBadRequest},
		"a page": {strings.Replace(upgrade, "Host: a", "Host: localhost\r\nOrigin: http://localhost", 1),
			http.StatusForbidden},
		"another release": {strings.Replace(upgrade, "Host: a", "Host: a\r\nSnowgrid-Release: 98-99 v9", 1),
			http.StatusUpgradeRequired},
		"an upgrade": {upgrade, http.StatusSwitchingProtocols},
	} {
		conn, err := net.Dial("tcp", m.Addrs().API)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = io.WriteString(conn, c.request)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || res.StatusCode != c.status {
			t.Errorf("%s: %v, %v", name, res, err)
		}
		_ = conn.Close()
	}
}

// TestFramesEndWithTheMember: Close of a member ends its framed connections and their streams.
func TestFramesEndWithTheMember(t *testing.T) {
	t.Parallel()
	m := startOne(t, func(c *grid.Config) {})
	h := calls.NewPool(calls.TCP, nil)
	defer h.Close()
	stream, err := overhttp.Pull(t.Context(), h, m.Addrs().API, wire.EventsRequest{Holder: "h"})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if _, err := stream.Next(); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", m.Addrs().API)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(conn, upgrade)
	quiet := bufio.NewReader(conn)
	if res, err := http.ReadResponse(quiet, nil); err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v, %v", res, err)
	}
	_ = m.Close()
	var silent net.Error
	if _, err := quiet.ReadByte(); err == nil || errors.As(err, &silent) && silent.Timeout() {
		t.Errorf("a connection without requests: %v", err)
	}
	if e, err := stream.Next(); err == nil {
		t.Errorf("an event of a member that is closed: %+v", e)
	}
}

// TestFramesFollowCredentials: each request on an open framed connection is authorized by the
// keys of tokens and the authorities of that moment, and an event stream ends with them.
func TestFramesFollowCredentials(t *testing.T) {
	t.Parallel()
	dir, other := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	for _, d := range []string{dir, other} {
		if err := certificates.Create(d, certificates.Options{}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	m := startOne(t, func(c *grid.Config) { c.Security = &security.Config{Dir: dir, Every: 20 * time.Millisecond} })
	signer, err := token.LoadSigner(filepath.Join(dir, security.TokensKeyFile))
	if err != nil {
		t.Fatal(err)
	}
	text, err := signer.Sign(token.Request{Name: "ci", Role: security.Holder, Names: []security.Pattern{"orders-*"},
		TTL: time.Hour}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	transport := func(conf security.Config, role security.Role) *calls.Pool {
		creds, err := security.Load(conf, role)
		if err != nil {
			t.Fatal(err)
		}
		h := calls.NewPool(calls.TCP, creds)
		t.Cleanup(h.Close)
		return h
	}
	create := func(h *calls.Pool, name string) error {
		ctx, cancel := context.WithTimeout(t.Context(), apiPatience)
		defer cancel()
		return h.Call(ctx, m.Addrs().API, wire.PathCreate, wire.CreateRequest{Name: name}, &struct{}{})
	}
	copied := func(name string) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(other, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	reload := func() {
		t.Helper()
		if _, err := m.ReloadSecurity(); err != nil {
			t.Fatal(err)
		}
	}
	byToken := transport(security.Config{Dir: dir, Token: text}, security.NoRole)
	byCert := transport(security.Config{Dir: dir, Role: security.Holder}, security.Holder)
	for name, want := range map[string]error{"orders-1": nil, "billing": security.ErrDenied} {
		if err := create(byToken, name); !errors.Is(err, want) {
			t.Errorf("a create of %s by a token of orders-*: %v, want %v", name, err, want)
		}
	}
	if err := create(byCert, "shipping"); err != nil {
		t.Error(err)
	}
	stream, err := overhttp.Pull(t.Context(), byCert, m.Addrs().API, wire.EventsRequest{Holder: "h"})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()

	copied(security.TokensFile)
	reload()
	if err := create(byToken, "orders-2"); !errors.Is(err, security.ErrUnauthenticated) {
		t.Errorf("a token of a key that is gone: %v", err)
	}
	if err := create(byCert, "shipping-2"); err != nil {
		t.Errorf("a certificate after the keys of tokens changed: %v", err)
	}
	if dials, _ := byToken.Dials(); dials != 1 {
		t.Errorf("%d dials", dials)
	}

	for _, name := range []string{security.AuthorityFile, "member.crt", "member.key"} {
		copied(name)
	}
	reload()
	if err := create(byCert, "shipping-3"); err == nil {
		t.Error("a certificate of an authority that is gone created a sequencer")
	}
	for err = nil; err == nil; { // greetings, and then the end
		_, err = stream.Next()
	}
}
