//go:build linux

package languages

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/internal/loopback"
)

// grid is three agents with security, and the files of its clients.
type grid struct {
	dir      string // of the files with IDs
	security string
	token    string // file with a holder's token
	members  []*member
}

// member is an agent as a process.
type member struct {
	args []string
	api  string
	cmd  *exec.Cmd
	log  bytes.Buffer
}

func (m *member) start(t *testing.T) {
	t.Helper()
	m.cmd = exec.Command(m.args[0], m.args[1:]...)
	m.cmd.Stdout, m.cmd.Stderr = &m.log, &m.log
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
}

func (m *member) kill() {
	_ = m.cmd.Process.Kill()
	_ = m.cmd.Wait()
}

// startGrid starts agents with security.
func startGrid(t *testing.T) *grid { return startAgents(t, true) }

// startAgents starts the agents.
func startAgents(t *testing.T, secured bool) *grid {
	t.Helper()
	g := &grid{dir: t.TempDir(), security: filepath.Join(t.TempDir(), "security")}
	if err := authority.Create(g.security, authority.Options{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "snowgrid")
	build := exec.Command("go", "build", "-C", "../..", "-o", binary, "./cmd/snowgrid")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	token, err := exec.Command(binary, "secure", "token", "--dir", g.security, "--role", "holder", "--for", "languages",
		"--ttl", "2h").Output()
	if err != nil {
		t.Fatalf("a token: %v", err)
	}
	g.token = filepath.Join(g.dir, "token")
	if err := os.WriteFile(g.token, bytes.TrimSpace(token), 0o600); err != nil {
		t.Fatal(err)
	}
	addrs, err := loopback.FreeAddrs(9)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		m := &member{api: addrs[3*i+2], args: []string{binary, "agent", "--expect", "3", "--join",
			addrs[0] + "," + addrs[3], "--gossip-addr", addrs[3*i], "--raft-addr", addrs[3*i+1], "--api-addr", addrs[3*i+2],
			"--data-dir", t.TempDir(), "--log-level", "error", "--window", window.String()}}
		if secured {
			m.args = append(m.args, "--security-dir", g.security)
		}
		m.start(t)
		t.Cleanup(func() {
			m.kill()
			if t.Failed() {
				t.Logf("%s said: %.1000s", m.api, m.log.String())
			}
		})
		g.members = append(g.members, m)
	}
	return g
}

func (g *grid) addrs() (out []string) {
	for _, m := range g.members {
		out = append(out, m.api)
	}
	return out
}

func (g *grid) urls() (out []string) {
	for _, addr := range g.addrs() {
		out = append(out, "https://"+addr)
	}
	return out
}

// proxies returns addresses on loopback in clear text, for a client without TLS.
func (g *grid) proxies(t *testing.T) (out []string) {
	t.Helper()
	ca, err := os.ReadFile(filepath.Join(g.security, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(transport.CloseIdleConnections)
	for _, to := range g.urls() {
		target, err := url.Parse(to)
		if err != nil {
			t.Fatal(err)
		}
		p := httputil.NewSingleHostReverseProxy(target)
		p.Transport = transport
		p.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
		s := httptest.NewServer(p)
		t.Cleanup(s.Close)
		out = append(out, s.URL)
	}
	return out
}

// programsOf builds an example of each client whose tools are installed.
func programsOf(t *testing.T, g *grid, name string) (all []*program) {
	t.Helper()
	clients, err := filepath.Abs("../../clients")
	if err != nil {
		t.Fatal(err)
	}
	in := func(language string) string { return filepath.Join(clients, language) }
	run := func(dir string, command ...string) bool {
		c := exec.Command(command[0], command[1:]...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s", strings.Join(command, " "), err, out)
		}
		return err == nil
	}
	has := func(tool string) bool {
		_, err := exec.LookPath(tool)
		if err != nil {
			t.Logf("skipped: %s is not installed", tool)
		}
		return err == nil
	}
	if has("python3") {
		all = append(all, &program{name: "python", dir: in("python"),
			command: []string{"python3", "-m", example("python", name)}})
	}
	if has("npm") && run(in("typescript"), "npm", "ci", "--no-audit", "--no-fund") &&
		run(in("typescript"), "npm", "run", "build") {
		all = append(all, &program{name: "typescript", dir: in("typescript"),
			command: []string{"node", example("typescript", name)}})
	}
	if classes := filepath.Join(g.dir, "classes"); has("javac") && run(in("java"), "sh", "-c",
		"javac -d "+classes+" $(find src/main examples -name '*.java')") {
		all = append(all, &program{name: "java", dir: in("java"),
			command: []string{"java", "-cp", classes, example("java", name)}})
	}
	if target := filepath.Join(g.dir, "target"); has("cargo") && run(in("rust"), "cargo", "build", "--offline",
		"--release", "--example", name, "--target-dir", target) {
		all = append(all, &program{name: "rust", dir: in("rust"), plain: true,
			command: []string{filepath.Join(target, "release", "examples", name)}})
	}
	return all
}
