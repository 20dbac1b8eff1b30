// Package etcdtest starts etcd servers for the tests of both stores, with their clients and records.
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

	"github.com/snowgrid/snowgrid/client/store"
)

// shared is the server of the tests that do it no harm. Each of them has its own prefix.
var shared struct {
	once sync.Once
	dir  string
	s    *Server
	err  error
}

// Main runs the tests of a package.
func Main(m *testing.M) {
	code := m.Run()
	if shared.s != nil {
		shared.s.Kill()
	}
	_ = os.RemoveAll(shared.dir)
	os.Exit(code)
}

// Shared returns the server of all tests.
func Shared(t *testing.T) *Server {
	t.Helper()
	shared.once.Do(func() {
		if shared.dir, shared.err = os.MkdirTemp("", "etcd-"); shared.err == nil {
			shared.s, shared.err = start(context.Background(), shared.dir)
		}
	})
	return started(t, shared.s, shared.err)
}

// Own returns a server of this test alone.
func Own(t *testing.T) *Server {
	t.Helper()
	s, err := start(t.Context(), t.TempDir())
	t.Cleanup(func() {
		if err == nil {
			s.Kill()
		}
	})
	return started(t, s, err)
}

func started(t *testing.T, s *Server, err error) *Server {
	t.Helper()
	if errors.Is(err, errMissing) {
		t.Skip("skipped: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Connect returns a client of a server.
func Connect(t *testing.T, s *Server) *clientv3.Client {
	t.Helper()
	c, err := s.Client(clientv3.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Opened returns a client of package store over etcd.
func Opened(t *testing.T, k Kind, cli *clientv3.Client, prefix string, cfg store.Config) *store.Client {
	t.Helper()
	c, err := store.Open(t.Context(), k.Open(cli, prefix), cfg)
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
