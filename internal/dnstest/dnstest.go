// Package dnstest is a DNS server for tests, whose records a test sets.
package dnstest

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/miekg/dns"
)

// Server is a DNS server on loopback.
type Server struct {
	addr    string
	queries atomic.Int64

	mu      sync.Mutex // guards records
	records map[string][]dns.RR
}

// Start starts a server without records, which ends with the test.
func Start(tb testing.TB) *Server {
	tb.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	d := &Server{addr: socket.LocalAddr().String(), records: map[string][]dns.RR{}}
	server := &dns.Server{PacketConn: socket, Handler: d}
	served := make(chan struct{})
	go func() {
		_ = server.ActivateAndServe() // it ends when the socket is closed
		close(served)
	}()
	tb.Cleanup(func() {
		_ = socket.Close()
		<-served
	})
	return d
}

// Set replaces the records of a name: IPs, or "priority weight port target" of services.
func (d *Server) Set(name string, values ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	name += "."
	delete(d.records, name)
	for _, value := range values {
		kind := "A"
		switch {
		case strings.Contains(value, " "):
			kind, value = "SRV", value+"."
		case strings.Contains(value, ":"):
			kind = "AAAA"
		}
		rr, err := dns.NewRR(fmt.Sprintf("%s 1 IN %s %s", name, kind, value))
		if err != nil {
			panic(err)
		}
		d.records[name] = append(d.records[name], rr)
	}
}

// ServeDNS implements dns.Handler: names without records do not exist.
func (d *Server) ServeDNS(w dns.ResponseWriter, r *dns.Msg) {
	d.queries.Add(1)
	m := new(dns.Msg)
	m.SetReply(r)
	d.mu.Lock()
	records, known := d.records[strings.ToLower(r.Question[0].Name)]
	for _, rr := range records {
		if rr.Header().Rrtype == r.Question[0].Qtype {
			m.Answer = append(m.Answer, rr)
		}
	}
	d.mu.Unlock()
	if !known {
		m.Rcode = dns.RcodeNameError
	}
	_ = w.WriteMsg(m)
}

// Queries returns how many questions were asked.
func (d *Server) Queries() int { return int(d.queries.Load()) }

// Resolver returns a resolver that asks the server alone.
func (d *Server) Resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, "udp", d.addr)
	}}
}
