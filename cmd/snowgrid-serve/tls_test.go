package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/snowgrid/snowgrid/cmd/snowgrid-serve/snowflakepb"
	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/security"
)

// testAuthority issues certificates for callers and the server.
type testAuthority struct {
	*authority.Authority
	t *testing.T
}

func newTestAuthority(t *testing.T) testAuthority {
	t.Helper()
	a, err := authority.New("test", time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return testAuthority{a, t}
}

// of returns a certificate of a role.
func (a testAuthority) of(role security.Role, names ...security.Pattern) *tls.Certificate {
	a.t.Helper()
	certPEM, keyPEM, err := a.Issue(authority.Request{Name: string(role), Role: role, Names: names}, time.Now())
	if err != nil {
		a.t.Fatal(err)
	}
	return a.pair(certPEM, keyPEM)
}

// stating returns a certificate with URIs, or none, as another authority may issue it.
func (a testAuthority) stating(uris ...string) *tls.Certificate {
	a.t.Helper()
	key, err := a.Key()
	if err != nil {
		a.t.Fatal(err)
	}
	own := a.pair(a.Certificate(), key)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "web"}, NotBefore: time.Now().Add(-time.Minute),
		NotAfter:    time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, text := range uris {
		u, err := url.Parse(text)
		if err != nil {
			a.t.Fatal(err)
		}
		template.URIs = append(template.URIs, u)
	}
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, own.Leaf, secret.Public(), own.PrivateKey)
	if err != nil {
		a.t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: secret}
}

func (a testAuthority) pair(certPEM, keyPEM []byte) *tls.Certificate {
	a.t.Helper()
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		a.t.Fatal(err)
	}
	return &cert
}

// write writes the files of a server, and returns their flags.
func (a testAuthority) write(dir string) tlsFlags {
	a.t.Helper()
	certPEM, keyPEM, err := a.Issue(authority.Request{Name: "server", Role: security.Member}, time.Now())
	if err != nil {
		a.t.Fatal(err)
	}
	f := tlsFlags{TLSCert: filepath.Join(dir, "server.crt"), TLSKey: filepath.Join(dir, "server.key"),
		TLSClientCA: filepath.Join(dir, "ca.crt"), every: time.Millisecond}
	for file, text := range map[string][]byte{f.TLSCert: certPEM, f.TLSKey: keyPEM, f.TLSClientCA: a.Certificate()} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	return f
}

// secured is a process with certificates, and its callers.
type secured struct {
	t          *testing.T
	http, grpc string // addresses
}

// serveSecured serves IDs on loopback until the end of the test.
func serveSecured(t *testing.T, f tlsFlags) secured {
	t.Helper()
	s := ownService(t)
	encryption, callers, err := f.load()
	if err != nil {
		t.Fatal(err)
	}
	s.access = callers
	at := listeners{tls: encryption}
	for _, ln := range []*net.Listener{&at.http, &at.grpc} {
		if *ln, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	web := serving(s, at, "127.0.0.1:0", s.log, func(err error) { t.Error(err) })
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { callers.watch(ctx, s.log, nil); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended; web.stop() })
	return secured{t, at.http.Addr().String(), at.grpc.Addr().String()}
}

// calls are the calls of one process with a certificate, or with none.
func (s secured) calls(server testAuthority, cert *tls.Certificate) calls {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(server.Certificate())
	conf := &tls.Config{RootCAs: pool, ServerName: "localhost"}
	if cert != nil {
		conf.Certificates = []tls.Certificate{*cert}
	}
	transport := &http.Transport{TLSClientConfig: conf, ForceAttemptHTTP2: true}
	conn, err := grpc.NewClient(s.grpc, grpc.WithTransportCredentials(credentials.NewTLS(conf)))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { transport.CloseIdleConnections(); _ = conn.Close() })
	return calls{s, &http.Client{Transport: transport, Timeout: 20 * time.Second}, snowflakepb.NewSnowflakeIDClient(conn)}
}

type calls struct {
	secured
	web *http.Client
	rpc snowflakepb.SnowflakeIDClient
}

// status returns the status of a path, 0 without a connection.
func (c calls) status(method, path, body string) int {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, "https://"+c.http+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := c.web.Do(req)
	if err != nil {
		return 0
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.Copy(io.Discard, res.Body)
	if res.ProtoMajor != 2 {
		c.t.Errorf("%s is served by %s, and not HTTP/2", path, res.Proto)
	}
	return res.StatusCode
}

// next returns the code of a call over gRPC.
func (c calls) next() codes.Code {
	_, err := c.rpc.NextID(c.t.Context(), &emptypb.Empty{})
	return status.Code(err)
}

// TestCallersNeedCertificates: what callers may do follows from their certificates, over
// HTTP and gRPC alike; probes need none.
func TestCallersNeedCertificates(t *testing.T) {
	own, foreign := newTestAuthority(t), newTestAuthority(t)
	at := serveSecured(t, own.write(t.TempDir()))
	for name, c := range map[string]struct {
		cert               *tls.Certificate
		ids, other, metric int // status of IDs of the own sequencer, of "orders-1", of /metrics
		rpc                codes.Code
	}{
		"none":              {nil, 401, 401, 401, codes.Unauthenticated},
		"reader":            {own.of(security.Reader), 403, 403, 200, codes.PermissionDenied},
		"holder":            {own.of(security.Holder), 200, 200, 200, codes.OK},
		"holder of orders":  {own.of(security.Holder, "orders-*"), 403, 200, 200, codes.PermissionDenied},
		"holder of default": {own.of(security.Holder, "default"), 200, 403, 200, codes.OK},
		"without a role":    {own.stating(), 200, 200, 200, codes.OK},
		"of another scheme": {own.stating("spiffe://example.org/web"), 200, 200, 200, codes.OK},
		"with two roles": {own.stating("spiffe://snowgrid/role/admin", "spiffe://snowgrid/role/reader"), 403, 403, 403,
			codes.PermissionDenied},
		"of an unknown role":   {own.stating("spiffe://snowgrid/role/emperor"), 403, 403, 403, codes.PermissionDenied},
		"of another authority": {foreign.of(security.Admin), 0, 0, 0, codes.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			at.t = t
			by := at.calls(own, c.cert)
			if got := by.status("POST", "/v1/ids", `{"n":2}`); got != c.ids {
				t.Errorf("IDs: status %d, want %d", got, c.ids)
			}
			if got := by.status("POST", "/v1/ids", `{"name":"orders-1","create":{}}`); got != c.other {
				t.Errorf("IDs of orders-1: status %d, want %d", got, c.other)
			}
			if got := by.status("POST", "/v1/ids", `{`); c.ids == 401 && got != 401 {
				t.Errorf("a body that cannot be read: status %d, want 401 before it is read", got)
			}
			for _, path := range []string{"/metrics", "/v1/openapi.json"} {
				if got := by.status("GET", path, ""); got != c.metric {
					t.Errorf("%s: status %d, want %d", path, got, c.metric)
				}
			}
			if got := by.next(); got != c.rpc {
				t.Errorf("gRPC: %v, want %v", got, c.rpc)
			}
			if got := by.status("GET", "/livez", ""); got != 200 && c.cert == nil {
				t.Errorf("livez: status %d", got)
			}
		})
	}
}

// TestCertificatesReload: another authority in the files is the one that is trusted, on
// connections that are open, too.
func TestCertificatesReload(t *testing.T) {
	first, second, dir := newTestAuthority(t), newTestAuthority(t), t.TempDir()
	at := serveSecured(t, first.write(dir))
	before := at.calls(first, first.of(security.Holder))
	if got := before.status("POST", "/v1/ids", "{}"); got != 200 || before.next() != codes.OK {
		t.Fatalf("before: status %d", got)
	}
	second.write(dir)
	after := at.calls(second, second.of(security.Holder))
	for after.status("POST", "/v1/ids", "{}") != 200 {
		time.Sleep(time.Millisecond) // nothing tells a caller of a reload
	}
	if got := before.status("POST", "/v1/ids", "{}"); got != 401 {
		t.Errorf("the earlier authority's, over HTTP: status %d, want 401", got)
	}
	if got := before.next(); got != codes.Unauthenticated {
		t.Errorf("the earlier authority's, over gRPC: %v", got)
	}
	if got := after.next(); got != codes.OK {
		t.Errorf("the later authority's: %v", got)
	}
}

// TestEncryptionAlone: without --tls-client-ca callers are not asked for a certificate.
func TestEncryptionAlone(t *testing.T) {
	own, foreign := newTestAuthority(t), newTestAuthority(t)
	f := own.write(t.TempDir())
	f.TLSClientCA = ""
	at := serveSecured(t, f)
	for _, cert := range []*tls.Certificate{nil, foreign.of(security.Reader)} {
		if by := at.calls(own, cert); by.status("POST", "/v1/ids", "{}") != 200 || by.next() != codes.OK {
			t.Error("a caller of a server without client authorities was refused")
		}
	}
}

// TestStartFailsWithoutCertificates: other machines can reach the servers only if callers
// need a certificate, or --insecure says otherwise.
func TestStartFailsWithoutCertificates(t *testing.T) {
	dir := t.TempDir()
	f := newTestAuthority(t).write(dir)
	bad := filepath.Join(dir, "bad.pem")
	if err := os.WriteFile(bad, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}),
		0o600); err != nil {
		t.Fatal(err)
	}
	for says, args := range map[string][]string{
		"0.0.0.0:0 can be reached from other machines": {"--http-addr", "0.0.0.0:0"},
		":0 can be reached from other machines":        {"--grpc-addr", ":0"},
		"10.0.0.1:0 can be reached": {"--http-addr", "10.0.0.1:0", "--tls-cert", f.TLSCert,
			"--tls-key", f.TLSKey},
		"give both or neither":               {"--tls-cert", f.TLSCert},
		"give --tls-cert and --tls-key, too": {"--tls-client-ca", f.TLSClientCA},
		"no such file": {"--tls-cert", f.TLSCert, "--tls-key", f.TLSKey, "--tls-client-ca",
			filepath.Join(dir, "none")},
		"bad.pem has no certificate": {"--tls-cert", f.TLSCert, "--tls-key", f.TLSKey, "--tls-client-ca", bad},
	} {
		status, stdout, stderr := command(t, append([]string{"serve", "--store", "file:" + filepath.Join(dir, "ids"),
			"--http-addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0"}, args...)...)
		if status != exitUsage || stdout != "" || !strings.Contains(stderr, says) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: status %d, %q, %s; want %s in one line", args, status, stdout, stderr, says)
		}
	}
	if err := (tlsFlags{Insecure: true}).check("0.0.0.0:8001", ""); err != nil {
		t.Errorf("with --insecure: %v", err)
	}
}
