//go:build linux

package openapi

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/internal/loopback"
)

// patience bounds each wait.
const patience = time.Minute

// grid is agents with security.
type grid struct {
	members []*member
	token   string // an admin's
	http    *http.Transport
}

// member is an agent as a process.
type member struct {
	gossip, api string
	ended       chan struct{}
}

// awaitEnd waits until the process has ended.
func (m *member) awaitEnd(t *testing.T) {
	t.Helper()
	select {
	case <-m.ended:
	case <-time.After(patience):
		t.Fatalf("the member at %s runs %v after it was told to leave", m.api, patience)
	}
}

// startGrid starts n agents.
func startGrid(t *testing.T, n int) *grid {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "security")
	if err := authority.Create(dir, authority.Options{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "snowgrid")
	must(t, exec.Command("go", "build", "-C", "../..", "-o", binary, "./cmd/snowgrid"))
	token, err := exec.Command(binary, "secure", "token", "--dir", dir, "--role", "admin", "--for", "proof", "--ttl",
		"1h").Output()
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	g := &grid{token: strings.TrimSpace(string(token)),
		http: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}}
	t.Cleanup(g.http.CloseIdleConnections)
	addrs, err := loopback.FreeAddrs(3 * n)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		g.members = append(g.members, startMember(t, addrs[3*i+2], binary, "agent", "--expect", strconv.Itoa(n),
			"--join", strings.Join(addrs[:2], ",")+","+addrs[3], "--gossip-addr", addrs[3*i], "--raft-addr", addrs[3*i+1],
			"--api-addr", addrs[3*i+2], "--data-dir", t.TempDir(), "--log-level", "error", "--security-dir", dir))
		g.members[i].gossip = addrs[3*i]
	}
	return g
}

// startMember starts an agent, which the test ends.
func startMember(t *testing.T, api string, command ...string) *member {
	t.Helper()
	m := &member{api: api, ended: make(chan struct{})}
	var log bytes.Buffer
	c := exec.Command(command[0], command[1:]...)
	c.Stdout, c.Stderr = &log, &log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = c.Wait()
		close(m.ended)
	}()
	t.Cleanup(func() {
		_ = c.Process.Kill()
		<-m.ended
		if t.Failed() {
			t.Logf("the agent at %s wrote %.2000s", api, log.String())
		}
	})
	return m
}

// awaitReady waits until each member is ready and the grid settled, so that a member may leave.
func (g *grid) awaitReady(t *testing.T) {
	t.Helper()
	for _, m := range g.members {
		g.await(t, m, "/readyz")
		g.await(t, m, "/v1/settled")
	}
}

// await returns a page of a member once it answers with 200.
func (g *grid) await(t *testing.T, m *member, path string) []byte {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		status, body := g.get(t, m, path)
		if status == http.StatusOK {
			return body
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s of %s answers with %d after %v", path, m.api, status, patience)
		}
	}
}

// document returns the document that each member serves, with the same bytes.
func (g *grid) document(t *testing.T) []byte {
	t.Helper()
	first := g.await(t, g.members[0], "/v1/openapi.json")
	for _, m := range g.members[1:] {
		if body := g.await(t, m, "/v1/openapi.json"); !bytes.Equal(body, first) {
			t.Fatalf("%s has a document of %d bytes, another member of %d", m.api, len(body), len(first))
		}
	}
	return first
}

// get returns a page of a member, 0 without an answer.
func (g *grid) get(t *testing.T, m *member, path string) (status int, body []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+m.api+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+g.token)
	reply, err := g.http.RoundTrip(request)
	if err != nil {
		return 0, nil
	}
	defer func() { _ = reply.Body.Close() }()
	body, err = io.ReadAll(reply.Body)
	if err != nil {
		return 0, nil
	}
	return reply.StatusCode, body
}

// exchange is a request and its reply.
type exchange struct {
	Method  string `json:"method"`
	Path    string `json:"path"`
	Status  int    `json:"status"`
	Kind    string `json:"kind"` // the reply's Content-Type
	Request string `json:"request"`
	Reply   string `json:"reply"`
}

// recorder is a proxy to a member in clear text, which keeps each exchange.
type recorder struct {
	url  string
	next http.RoundTripper

	mu   sync.Mutex
	made []exchange
}

// record returns a recorder for a member, which the test ends.
func (g *grid) record(t *testing.T, api string) *recorder {
	t.Helper()
	r := &recorder{next: g.http}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "https", Host: api})
	proxy.Transport = r
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

// exchanges returns the exchanges so far.
func (r *recorder) exchanges() []exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.made
}

// RoundTrip implements http.RoundTripper.
func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	e := exchange{Method: request.Method, Path: request.URL.Path}
	var err error
	if e.Request, request.Body, err = copyBody(request.Body); err != nil {
		return nil, err
	}
	reply, err := r.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	e.Status, e.Kind = reply.StatusCode, reply.Header.Get("Content-Type")
	if e.Reply, reply.Body, err = copyBody(reply.Body); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made = append(r.made, e)
	return reply, nil
}

// copyBody reads a body, and returns it a second time.
func copyBody(body io.ReadCloser) (string, io.ReadCloser, error) {
	if body == nil {
		return "", nil, nil
	}
	data, err := io.ReadAll(body)
	_ = body.Close()
	return string(data), io.NopCloser(bytes.NewReader(data)), err
}
