package grid_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid"
	certificates "github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// strangersMax is how many connections without a certificate one address may have.
const strangersMax = 256

// securedOnSockets starts a member over sockets of this machine, and returns it with a
// directory that has the certificates of a member and of a holder.
func securedOnSockets(t *testing.T) (m *grid.Member, dir string) {
	t.Helper()
	dir = t.TempDir()
	a, err := certificates.New("test", time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(security.AuthorityFile, a.Certificate())
	for _, role := range []security.Role{security.Member, security.Holder, security.Reader} {
		cert, key, err := a.Issue(certificates.Request{Name: "test", Role: role}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		write(string(role)+".crt", cert)
		write(string(role)+".key", key)
	}
	m, err = grid.Start(t.Context(), grid.Config{
		GossipAddr: "127.0.0.1:0", RaftAddr: "127.0.0.1:0", APIAddr: "127.0.0.1:0", Expect: 1, FirstLife: true,
		Security: &security.Config{Dir: dir},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m, dir
}

// keptConn is a connection without a certificate that is in use.
type keptConn struct {
	dial func() (net.Conn, error)
	conn net.Conn // nil before the first one
	in   *bufio.Reader
}

// keep sends a request, on a new connection if the present one has ended. One that is refused,
// since another that ended is still counted, is opened again the next time, as is one whose handshake
// takes too long.
func (c *keptConn) keep() {
	for range 2 {
		if c.conn == nil {
			var err error
			if c.conn, err = c.dial(); err != nil {
				c.conn = nil
				return
			}
			c.in = bufio.NewReader(c.conn)
		}
		if c.ask() == nil {
			return
		}
		c.close()
		c.conn = nil
	}
}

// ask asks whether the member lives.
func (c *keptConn) ask() error {
	_ = c.conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c.conn, "GET /livez HTTP/1.1\r\nHost: member\r\n\r\n"); err != nil {
		return err
	}
	res, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.Close {
		return errors.New("the connection is refused")
	}
	return nil
}

func (c *keptConn) close() {
	if c.conn != nil {
		_ = c.conn.Close()
	}
}

// TestTooManyConnectionsAreRefused: an address that has all the connections without a
// certificate that it may gets an answer that says so on one more, health checks are answered
// there, and a client with a certificate from that address is served.
func TestTooManyConnectionsAreRefused(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	m, dir := securedOnSockets(t)
	creds, err := security.Load(security.Config{Dir: dir}, security.Holder)
	if err != nil {
		t.Fatal(err)
	}
	addr := m.Addrs().API
	conf := creds.Client(addr).Clone()
	conf.Certificates, conf.NextProtos = nil, []string{"http/1.1"}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		d := tls.Dialer{Config: conf}
		return d.DialContext(ctx, "tcp", addr)
	}
	open := make([]*keptConn, strangersMax)
	for i := range open {
		open[i] = &keptConn{dial: func() (net.Conn, error) { return dial(t.Context(), "", "") }}
		defer open[i].close()
	}
	get := func(path string) (*http.Response, []byte) {
		t.Helper()
		transport := &http.Transport{DialTLSContext: dial}
		defer transport.CloseIdleConnections()
		// Handshakes take their turns, and the member closes connections that ask for nothing.
		// So all are kept, and this one is asked again, until it is refused.
		for deadline := time.Now().Add(time.Minute); ; {
			// One by one, the first would be closed on a busy machine before the last has asked.
			var keepers sync.WaitGroup
			for some := range slices.Chunk(open, strangersMax/8) {
				keepers.Go(func() {
					for _, c := range some {
						c.keep()
					}
				})
			}
			keepers.Wait()
			res, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Get("https://" + addr + path)
			var body []byte
			if err == nil {
				body, err = io.ReadAll(res.Body)
				_ = res.Body.Close()
			}
			if err == nil && res.Close {
				return res, body
			}
			transport.CloseIdleConnections()
			if time.Now().After(deadline) {
				t.Fatalf("no connection is refused beside %d: %v", len(open), err)
			}
		}
	}
	res, body := get(wire.PathStatus)
	var refusal wire.Error
	if err := json.Unmarshal(body, &refusal); err != nil || res.StatusCode != http.StatusServiceUnavailable ||
		refusal.Code != "unavailable" ||
		!strings.Contains(refusal.Message, "127.0.0.1 has 256 connections") || res.Header.Get("Retry-After") == "" ||
		!res.Close {
		t.Errorf("one connection more: %s %s", res.Status, body)
	}
	for _, path := range []string{"/livez", "/readyz"} {
		if res, body := get(path); res.StatusCode != http.StatusOK || !res.Close {
			t.Errorf("%s: %s %s", path, res.Status, body)
		}
	}
	c, err := client.Dial(t.Context(),
		client.Config{Addrs: []string{addr}, Security: &security.Config{Dir: dir, Role: security.Holder}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	orders, err := c.CreateSequencer(t.Context(), "orders", sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := orders.Next(t.Context()); err != nil {
		t.Error(err)
	}
}
