// Package etcdtest has the tests that both stores over etcd pass, and what they run on: etcd servers,
// records, and processes that hold them.
package etcdtest

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowgrid/snowgrid/client/etcd/internal/server"
)

// shared is the server of the tests that do it no harm. Each of them has its own prefix.
var shared struct {
	once sync.Once
	dir  string
	s    *server.Server
	err  error
}

// Main runs the tests of a package, or the work of a process that a test has started.
func Main(m *testing.M) {
	if work := os.Getenv(workVar); work != "" {
		os.Exit(beProcess(work))
	}
	code := m.Run()
	if shared.s != nil {
		shared.s.Kill()
	}
	_ = os.RemoveAll(shared.dir)
	os.Exit(code)
}

// Shared returns the server of all tests.
func Shared(t *testing.T) *server.Server {
	t.Helper()
	shared.once.Do(func() {
		if shared.dir, shared.err = os.MkdirTemp("", "etcd-"); shared.err == nil {
			shared.s, shared.err = server.Start(context.Background(), shared.dir)
		}
	})
	return started(t, shared.s, shared.err)
}

// Own returns a server of this test alone.
func Own(t *testing.T) *server.Server {
	t.Helper()
	s, err := server.Start(t.Context(), t.TempDir())
	t.Cleanup(func() {
		if err == nil {
			s.Kill()
		}
	})
	return started(t, s, err)
}

func started(t *testing.T, s *server.Server, err error) *server.Server {
	t.Helper()
	if errors.Is(err, server.ErrMissing) {
		t.Skip("skipped: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Connect returns a client of a server.
func Connect(t *testing.T, s *server.Server) *clientv3.Client {
	t.Helper()
	c, err := s.Client(clientv3.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Prefix returns a prefix that no other test has.
func Prefix(t *testing.T) string {
	return "/" + strings.ReplaceAll(t.Name(), "/", "-") + "-" + rand.Text()[:8] + "/"
}

// Value returns the value of a key, "" if it does not exist.
func Value(t *testing.T, c *clientv3.Client, key string) string {
	t.Helper()
	got, err := c.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Kvs) == 0 {
		return ""
	}
	return string(got.Kvs[0].Value)
}

// Await returns when a condition holds, and fails after a while.
func Await(t *testing.T, within time.Duration, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %v: not %s", within, what)
		}
	}
}
