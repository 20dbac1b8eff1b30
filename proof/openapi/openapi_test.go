//go:build linux

package openapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestClients: generated clients in Go and TypeScript compile, and call every path of the document with success;
// the document is valid, and each request and reply is as its schema states.
func TestClients(t *testing.T) {
	g := startGrid(t, len(clients)+1)
	document := g.document(t)
	node := t.TempDir()
	dirs := []string{t.TempDir(), node}
	commands := make([]*exec.Cmd, len(clients))
	t.Run("build", func(t *testing.T) {
		for i, c := range clients {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				write(t, filepath.Join(dirs[i], "openapi.json"), document)
				commands[i] = c.build(t, dirs[i])
			})
		}
	})
	g.awaitReady(t)
	var all []exchange
	for i, c := range clients {
		t.Run(c.name, func(t *testing.T) {
			command := commands[i]
			if command == nil {
				t.Skip("the client was not built")
			}
			proxy := g.record(t, g.members[i].api)
			host, port, _ := strings.Cut(g.members[len(clients)].gossip, ":")
			command.Args = append(command.Args, proxy.url, g.token, host, port)
			out, err := command.CombinedOutput()
			made := proxy.exchanges()
			if err != nil {
				t.Fatalf("%v: %s, after %+v", err, out, made[max(0, len(made)-1):])
			}
			all = append(all, made...)
			checkCoverage(t, operationsOf(t, document), made)
			if i < len(clients)-1 { // the last call ends the member, and the next client needs the others settled
				g.members[i].awaitEnd(t)
			}
		})
	}
	t.Run("schemas", func(t *testing.T) {
		if commands[len(clients)-1] == nil {
			t.Skip("node is not installed, or the validator cannot be downloaded here")
		}
		checkSchemas(t, node, all)
	})
}

// checkSchemas validates the document in a directory, and each exchange by it.
func checkSchemas(t *testing.T, dir string, all []exchange) {
	t.Helper()
	var lines bytes.Buffer
	for _, e := range all {
		if err := json.NewEncoder(&lines).Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "exchanges"), lines.Bytes())
	copyFile(t, "check.mjs", dir)
	out, err := in(dir, "node", "check.mjs", "openapi.json", "exchanges").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("%d exchanges: %s", len(all), out)
}

// checkCoverage reports operations without a successful call, and whether no call was refused.
func checkCoverage(t *testing.T, operations map[string]bool, made []exchange) {
	t.Helper()
	done, refused := map[string]bool{}, 0
	for _, e := range made {
		if e.Status == http.StatusOK {
			done[e.Method+" "+e.Path] = true
		} else {
			refused++
		}
	}
	for operation := range operations {
		if !done[operation] {
			t.Errorf("%s was not called with success", operation)
		}
	}
	if refused == 0 {
		t.Error("no call was refused, so that no error was checked")
	}
}

// operationsOf returns the methods and paths in a document.
func operationsOf(t *testing.T, document []byte) map[string]bool {
	t.Helper()
	var d struct{ Paths map[string]map[string]any }
	if err := json.Unmarshal(document, &d); err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for path, methods := range d.Paths {
		for method := range methods {
			out[strings.ToUpper(method)+" "+path] = true
		}
	}
	if len(out) < 25 {
		t.Fatalf("the document has %d operations", len(out))
	}
	return out
}

// client is a program with a generated client.
type client struct {
	name string
	// build generates the client of the document in a directory and compiles it there. It skips the test without
	// its tools.
	build func(t *testing.T, dir string) *exec.Cmd
}

var clients = []client{{"go", buildGo}, {"typescript", buildTypeScript}}

// buildGo builds the client in Go in a module with the dependencies of this one.
func buildGo(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	must(t, exec.Command("go", "tool", "ogen", "--config", filepath.Join("testdata", "ogen.yml"), "--target",
		filepath.Join(dir, "api"), "--package", "api", filepath.Join(dir, "openapi.json")))
	var mod []string
	for _, line := range strings.Split(string(read(t, "go.mod")), "\n") {
		if !strings.Contains(line, "github.com/snowgrid/") {
			mod = append(mod, line)
		}
	}
	write(t, filepath.Join(dir, "go.mod"), []byte("module generated\n"+strings.Join(mod, "\n")))
	write(t, filepath.Join(dir, "go.sum"), read(t, "go.sum"))
	write(t, filepath.Join(dir, "main.go"), read(t, filepath.Join("testdata", "client.go.txt")))
	must(t, in(dir, "go", "build", "-o", "client", "."))
	return in(dir, "./client")
}

// buildTypeScript checks the types of the client in TypeScript, and compiles it.
func buildTypeScript(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("node and npm are not installed")
	}
	for _, name := range []string{"package.json", "package-lock.json", "client.ts"} {
		copyFile(t, name, dir)
	}
	if out, err := in(dir, "npm", "ci", "--prefer-offline", "--no-audit", "--no-fund").CombinedOutput(); err != nil {
		t.Skipf("the tools for Node.js cannot be downloaded here: %v: %s", err, out)
	}
	bin := filepath.Join(dir, "node_modules", ".bin")
	must(t, in(dir, filepath.Join(bin, "openapi-typescript"), "openapi.json", "-o", "schema.d.ts"))
	must(t, in(dir, filepath.Join(bin, "tsc"), "--strict", "--noUncheckedIndexedAccess", "--target", "es2022", "--module",
		"nodenext", "--skipLibCheck", "client.ts"))
	return in(dir, "node", "client.js")
}

// in returns a command in a directory.
func in(dir string, name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir = dir
	return c
}

// must runs a command that has to succeed.
func must(t *testing.T, c *exec.Cmd) {
	t.Helper()
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(c.Args, " "), err, out)
	}
}

// copyFile copies a file of testdata.
func copyFile(t *testing.T, name, dir string) {
	t.Helper()
	write(t, filepath.Join(dir, name), read(t, filepath.Join("testdata", name)))
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
