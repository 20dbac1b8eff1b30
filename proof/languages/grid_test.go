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

// proxies returns addresses on loopback in clear text, for a client without TLS.
func (g *grid) proxies(t *testing.T, addrs []string) (out []string) {
	t.Helper()
	ca, err := os.ReadFile(filepath.Join(g.security, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(transport.CloseIdleConnections)
	for _, addr := range addrs {
		target, err := url.Parse("https://" + addr)
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

// programsOf builds an example of each client whose tools are installed. That in Python has so many children.
func programsOf(t *testing.T, g *grid, name string, forks int) (all []*program) {
	t.Helper()
	clients, err := filepath.Abs("../../clients")
	if err != nil {
		t.Fatal(err)
	}
	in := func(language string) string { return filepath.Join(clients, language) }
	run := func(dir, command string, args ...string) bool {
		c := exec.Command(command, args...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("%s %s: %v: %s", command, strings.Join(args, " "), err, out)
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
		all = append(all, &program{name: "python", dir: in("python"), forks: forks,
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
	if has("cargo") {
		target := filepath.Join(g.dir, "target")
		p := &program{name: "rust", dir: in("rust"), command: []string{filepath.Join(target, "release", "examples", name)}}
		build := []string{"build", "--offline", "--release", "--example", name, "--target-dir", target}
		if p.plain = !withTLS(t, in("rust/tls"), build); !p.plain || run(p.dir, "cargo", build...) {
			all = append(all, p)
		}
	}
	return all
}

// withTLS builds the example of the crate with TLS, if its dependencies are there.
func withTLS(t *testing.T, dir string, build []string) bool {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, "examples", build[4]+".rs")); err != nil {
		return false
	}
	options := []string{}
	if found, _ := filepath.Glob(debianCrates + "/native-tls-*"); len(found) > 0 {
		options = []string{"--config", `source.crates-io.replace-with="debian"`,
			"--config", `source.debian.directory="` + debianCrates + `"`}
	}
	c := exec.Command("cargo", append(options, build...)...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Logf("the Rust client calls in clear text by a proxy: the crate with TLS: %v: %.300s", err, out)
	}
	return err == nil
}

// debianCrates is where Debian installs crates.
const debianCrates = "/usr/share/cargo/registry"
