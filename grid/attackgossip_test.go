package grid_test

import (
	"context"
	"crypto/tls"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/handles"
	"io"
	"log"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	pki "github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/internal/evil"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/security"
)

// TestAttackGossip: nothing that gossip is told in clear text, with another key, or of
// another grid changes what any member sees, and a further member joins afterwards.
func TestAttackGossip(t *testing.T) {
	underAttack(t, false, func(t *testing.T, b *besieged) {
		leader := roster.Incarnation(b.g.Member(b.g.Leader()).Status().Answering)
		before := map[string]seenBy{}
		for _, name := range b.g.Running() {
			before[name] = lookAt(b.g.Member(name))
		}
		packets, streams := forgeries(leader, grid.RosterOf(b.g.Member("m1")).Grid)
		accused, state := accusations(leader)
		for i, packet := range accused {
			packets[string(rune('a'+i))] = packet
		}
		streams["accusations"] = state
		for _, name := range b.g.Running() {
			liar := forger{t, b.g.Network.Host("evil"), b.g.Member(name).Addrs().Gossip}
			for _, p := range packets {
				for _, form := range [][]byte{p, labelled("snowgrid", p), labelled("snowgrid", sealed(wrongKey, p, "snowgrid"))} {
					liar.packet(form)
				}
			}
			for _, s := range streams {
				for _, form := range [][]byte{s, labelled("snowgrid", s),
					labelled("snowgrid", sealedStream(wrongKey, s, "snowgrid"))} {
					liar.stream(form)
				}
			}
		}
		for range 20 {
			time.Sleep(time.Second)
			for _, name := range b.g.Running() {
				if now := lookAt(b.g.Member(name)); !reflect.DeepEqual(now, before[name]) {
					t.Fatalf("%s sees %+v, and saw %+v", name, now, before[name])
				}
			}
		}
		b.withstood("forged gossip")
		b.g.StartMembers("m4")
		within(t, 20*time.Second, "a fourth member joins", func() bool { return members(b.g) == 4 && seesAll(b.g, 4) })
	})
}

// TestAttackAnsweringAsAMember: a process with a holder's certificate that listens where a
// client or a member dials is not taken for a member.
func TestAttackAnsweringAsAMember(t *testing.T) {
	underAttack(t, false, func(t *testing.T, b *besieged) {
		cert, err := evil.Issue(b.authority, gridtest.Now(), pki.Request{Name: "evil", Role: security.Holder})
		if err != nil {
			t.Fatal(err)
		}
		var heard atomic.Int32
		ln, err := b.g.Network.Host("evil").Listen("evil:7948")
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{
			Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				heard.Add(1)
				w.WriteHeader(http.StatusTeapot)
			}),
			ErrorLog:  log.New(io.Discard, "", 0), // of handshakes that clients end
			TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"}},
		}
		served := make(chan error, 1)
		go func() { served <- server.ServeTLS(ln, "", "") }()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		c, err := client.Dial(ctx, calls.With(client.Config{
			Addrs: []string{"evil:7948"}, Dial: b.g.Network.Host("web").Dial,
			Security: b.g.Credentials(security.Holder, victimName),
		}, calls.Parts{Clock: handles.NewExactClock()}))
		if err == nil {
			_ = c.Close()
			t.Error("a holder was taken for a member")
		}
		if n := heard.Load(); n > 0 {
			t.Errorf("it was sent %d requests", n)
		}
		_ = server.Close()
		<-served
		b.withstood("a process that answers as a member")
	})
}

// trap is a listener that counts the connections to it.
type trap struct {
	addr  string
	conns atomic.Int32
}

// trap starts one on a host of its own.
func (b *besieged) trap(addr string) *trap {
	b.t.Helper()
	host, _, _ := strings.Cut(addr, ":")
	ln, err := b.g.Network.Host(host).Listen(addr)
	if err != nil {
		b.t.Fatal(err)
	}
	out := &trap{addr: addr}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			out.conns.Add(1)
			_ = conn.Close()
		}
	}()
	b.t.Cleanup(func() { _ = ln.Close(); <-ended })
	return out
}
