package transport_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/security"
)

var gridID = [16]byte{1, 2, 3}

// layer is a Raft stream layer that listens at name:7947 for the server name.
func layer(t *testing.T, n *gridtest.Network, name string, id [16]byte, conf *tls.Config) raft.StreamLayer {
	t.Helper()
	ln, err := n.Host(name).Listen(name + ":7947")
	if err != nil {
		t.Fatal(err)
	}
	s := transport.NewRaftStream(ln, n.Host(name), id, transport.NoClaims{}, transport.NoReleases{}, name, name+":7947",
		credentials(t, conf), nil)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// credentials are those of a configuration, nil of none.
func credentials(t *testing.T, conf *tls.Config) *security.Credentials {
	t.Helper()
	if conf == nil {
		return nil
	}
	creds, err := security.Load(security.Config{TLS: conf}, security.Member)
	if err != nil {
		t.Fatal(err)
	}
	return creds
}

func dialTo(name string) raft.ServerAddress {
	return transport.RaftAddress(raft.ServerID(name), name+":7947")
}

// echo serves the accepted streams of a layer.
func echo(s raft.StreamLayer) {
	for {
		conn, err := s.Accept()
		if err != nil {
			return
		}
		go func() {
			_, _ = io.Copy(conn, conn)
			_ = conn.Close()
		}()
	}
}

// answers sends to an echo bytes that a request could begin with.
func answers(conn net.Conn) error {
	if _, err := conn.Write([]byte("\x00ello")); err != nil {
		return err
	}
	got := make([]byte, 5)
	_, err := io.ReadFull(conn, got)
	if err == nil && string(got) != "\x00ello" {
		err = fmt.Errorf("got %q", got)
	}
	return err
}

func TestRaftStreamIsOnlyForItsTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		a := layer(t, n, "a", gridID, nil)
		b := layer(t, n, "b", gridID, nil)
		other := layer(t, n, "other", [16]byte{9}, nil)
		go echo(b)

		if got := a.Addr().String(); got != "a@a:7947" {
			t.Errorf("Addr() = %q", got)
		}
		conn, err := a.Dial(dialTo("b"), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if err := answers(conn); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * transport.HandshakeTimeout)
		if err := answers(conn); err != nil {
			t.Errorf("after the handshake's deadline: %v", err)
		}
		_ = conn.Close()

		for what, dial := range map[string]func() (net.Conn, error){
			"an earlier server at the same address": func() (net.Conn, error) { return a.Dial("b-before@b:7947", time.Second) },
			"another grid":                          func() (net.Conn, error) { return other.Dial(dialTo("b"), time.Second) },
		} {
			conn, err := dial()
			if err != nil {
				t.Fatal(err)
			}
			if err := answers(conn); err == nil {
				t.Errorf("a stream meant for %s is served", what)
			}
			_ = conn.Close()
		}
		for _, address := range []raft.ServerAddress{"b:7947", "@b:7947",
			raft.ServerAddress(strings.Repeat("x", 256) + "@b:7947")} {
			if _, err := a.Dial(address, time.Second); err == nil {
				t.Errorf("dialed %q", address)
			}
		}
	})
}

func TestRaftStreamIgnoresTheSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		a := layer(t, n, "a", gridID, nil)
		b := layer(t, n, "b", gridID, nil)
		go echo(b)
		var slow []net.Conn
		for range 3 * transport.HandshakesMax {
			conn, err := n.Host("slow").Dial(t.Context(), "b:7947")
			if err != nil {
				t.Fatal(err)
			}
			_, _ = conn.Write([]byte("SN"))
			slow = append(slow, conn)
		}
		conn, err := a.Dial(dialTo("b"), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if err := answers(conn); err != nil {
			t.Errorf("an honest stream: %v", err)
		}
		start := time.Now()
		for _, conn := range slow {
			_, _ = io.ReadAll(conn)
			_ = conn.Close()
		}
		if took := time.Since(start); took > transport.SilentMost {
			t.Errorf("silent streams live %v", took)
		}
	})
}

func TestRaftStreamCloseEndsItsStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		a := layer(t, n, "a", gridID, nil)
		b := layer(t, n, "b", gridID, nil)
		dialed, err := a.Dial(dialTo("b"), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		accepted, err := b.Accept()
		if err != nil {
			t.Fatal(err)
		}
		_ = b.Close()
		if _, err := accepted.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("the accepted end: %v", err)
		}
		if _, err := dialed.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("the dialed end: %v", err)
		}
		if _, err := b.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept: %v", err)
		}
		if _, err := b.Dial(dialTo("a"), time.Second); err == nil {
			t.Error("dialed after Close")
		}
		if err := b.Close(); err != nil {
			t.Errorf("a second Close: %v", err)
		}
	})
}

func TestRaftStreamDialGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		a := layer(t, n, "a", gridID, testTLS(t, "b"))
		if _, err := n.Host("b").Listen("b:7947"); err != nil { // accepts, says nothing
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := a.Dial(dialTo("b"), time.Second); err == nil || time.Since(start) != time.Second {
			t.Errorf("dial: %v after %v", err, time.Since(start))
		}
	})
}

func TestRaftStreamOverTLS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		conf := testTLS(t, "a", "b")
		conf.NextProtos = []string{"h2"}
		a := layer(t, n, "a", gridID, conf)
		b := layer(t, n, "b", gridID, conf)
		plain := layer(t, n, "plain", gridID, nil)
		stranger := layer(t, n, "stranger", gridID, testTLS(t, "stranger", "b"))
		go echo(b)
		conn, err := a.Dial(dialTo("b"), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if err := answers(conn); err != nil {
			t.Error(err)
		}
		_ = conn.Close()
		for what, from := range map[string]raft.StreamLayer{"clear text": plain, "an unknown certificate": stranger} {
			conn, err := from.Dial(dialTo("b"), time.Second)
			if err == nil {
				err = answers(conn)
				_ = conn.Close()
			}
			if err == nil {
				t.Errorf("%s is served", what)
			}
		}
	})
}

// testTLS is a mutual TLS configuration with a fresh certificate, valid for the
// given hosts, that trusts only itself.
func testTLS(t *testing.T, hosts ...string) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: hosts[0]},
		DNSNames:              hosts,
		URIs:                  security.URIs(security.Member, nil),
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		RootCAs:      pool,
		ClientCAs:    pool,
		ClientAuth:   tls.RequireAndVerifyClientCert,
	}
}

// applied is a state machine that remembers its commands.
type applied struct {
	mu       sync.Mutex
	commands []string
}

func (a *applied) Apply(l *raft.Log) any {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.commands = append(a.commands, string(l.Data))
	return nil
}

func (a *applied) has(command string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.commands {
		if c == command {
			return true
		}
	}
	return false
}

func (a *applied) Snapshot() (raft.FSMSnapshot, error) { return nil, errors.New("none") }
func (a *applied) Restore(io.ReadCloser) error         { return errors.New("none") }

// addresses tells where servers are, as gossip does for members.
type addresses struct{}

func (addresses) ServerAddr(id raft.ServerID) (raft.ServerAddress, error) {
	return dialTo(string(id)), nil
}

type server struct {
	*raft.Raft
	applied applied
}

func startRaft(t *testing.T, n *gridtest.Network, name string, voters []string, conf *tls.Config) *server {
	t.Helper()
	var servers []raft.Server
	for _, v := range voters {
		// Only the ID counts: the address comes from the provider.
		servers = append(servers, raft.Server{ID: raft.ServerID(v), Address: raft.ServerAddress(v)})
	}
	return startRaftOf(t, n, name, servers, conf)
}

func startRaftOf(t *testing.T, n *gridtest.Network, name string, servers []raft.Server, conf *tls.Config) *server {
	t.Helper()
	s := &server{}
	transport := transport.NewRaft(layer(t, n, name, gridID, conf), addresses{}, hclog.NewNullLogger())
	rc := raft.DefaultConfig()
	rc.LocalID = raft.ServerID(name)
	rc.Logger = hclog.NewNullLogger()
	rc.HeartbeatTimeout, rc.ElectionTimeout = 500*time.Millisecond, 500*time.Millisecond
	rc.LeaderLeaseTimeout, rc.CommitTimeout = 250*time.Millisecond, 20*time.Millisecond
	store := raft.NewInmemStore()
	snapshots := raft.NewDiscardSnapshotStore()
	if err := raft.BootstrapCluster(rc, store, store, snapshots, transport,
		raft.Configuration{Servers: servers}); err != nil {
		t.Fatal(err)
	}
	r, err := raft.NewRaft(rc, &s.applied, store, store, snapshots, transport)
	if err != nil {
		t.Fatal(err)
	}
	s.Raft = r
	return s
}

func TestRaftElectsCommitsAndElectsAgain(t *testing.T) {
	for name, secure := range map[string]bool{"clear text": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { electTwice(t, secure) })
		})
	}
}

func electTwice(t *testing.T, secure bool) {
	n := gridtest.NewNetwork()
	n.SetDelay(time.Millisecond)
	voters := []string{"a", "b", "c"}
	var conf *tls.Config
	if secure {
		conf = testTLS(t, voters...)
	}
	servers := map[string]*server{}
	for _, v := range voters {
		servers[v] = startRaft(t, n, v, voters, conf)
	}
	leader := ""
	lead := func() bool {
		for name, s := range servers {
			if s.State() == raft.Leader {
				leader = name
				return s.VerifyLeader().Error() == nil
			}
		}
		return false
	}
	commit := func(command string) {
		t.Helper()
		if err := servers[leader].Apply([]byte(command), time.Second).Error(); err != nil {
			t.Fatal(err)
		}
		for name, s := range servers {
			within(t, time.Second, name+" has "+command, func() bool { return s.applied.has(command) })
			if address, id := s.LeaderWithID(); string(id) != leader || address != dialTo(leader) {
				t.Errorf("%s thinks %s at %s leads, want %s", name, id, address, leader)
			}
		}
	}
	within(t, 5*time.Second, "a first leader", lead)
	commit("one")

	first := leader
	n.Crash(first)
	_ = servers[first].Shutdown().Error()
	delete(servers, first)
	within(t, 5*time.Second, "a second leader", lead)
	commit("two")

	n.Cut(leader, otherThan(servers, leader))
	within(t, 5*time.Second, "no leader without a majority", func() bool { return servers[leader].State() != raft.Leader })
	n.HealAll()
	within(t, 10*time.Second, "a leader after the cut", lead)
	commit("three")
	for _, s := range servers {
		_ = s.Shutdown().Error()
	}
}

func otherThan(servers map[string]*server, name string) string {
	for other := range servers {
		if other != name {
			return other
		}
	}
	return ""
}

func FuzzReadPreamble(f *testing.F) {
	f.Add(transport.Preamble{Grid: gridID, Target: "a-server"}.Encode())
	f.Add(transport.Preamble{Grid: gridID, Target: ""}.Encode())
	f.Add(transport.Preamble{Grid: gridID, Target: "a-server", Release: ours}.Encode())
	f.Add(transport.Preamble{Grid: gridID, Claim: [16]byte{1}, Target: "a-server", Release: ours}.Encode())
	f.Add([]byte("SNOW\x11short"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		p, err := transport.ReadPreamble(r)
		if err != nil {
			return
		}
		if read := b[:len(b)-r.Len()]; !bytes.Equal(p.Encode(), read) {
			t.Errorf("%q is accepted as %q", read, p.Encode())
		}
	})
}

func FuzzRaftAddress(f *testing.F) {
	f.Add("a@b:1")
	f.Add("a@b@c:1")
	f.Add("@")
	f.Fuzz(func(t *testing.T, address string) {
		id, hostPort, err := transport.CutRaftAddress(raft.ServerAddress(address))
		if err == nil && transport.RaftAddress(raft.ServerID(id), hostPort) != raft.ServerAddress(address) {
			t.Errorf("%q is cut into %q and %q", address, id, hostPort)
		}
	})
}
