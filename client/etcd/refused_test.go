package etcd_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/snowgrid/snowgrid/client/etcd"
	"github.com/snowgrid/snowgrid/client/etcd/mixed"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/loopback"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestRefusedConnectionIsTheCause: the errors of a store whose server does not run name its address and the refusal,
// and not the end of the call alone.
func TestRefusedConnectionIsTheCause(t *testing.T) {
	addrs, err := loopback.FreeAddrs(1)
	if err != nil {
		t.Fatal(err)
	}
	cli, err := clientv3.New(clientv3.Config{Endpoints: addrs, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cli.Close() }()
	for _, s := range []store.Store{etcd.New(cli, etcd.Config{}), mixed.New(cli, mixed.Config{})} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := s.Load(ctx, "orders/0.json")
		cancel()
		if !errors.Is(err, sequencer.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) ||
			!strings.Contains(err.Error(), addrs[0]+": connect: connection refused") {
			t.Errorf("%v: %v", s, err)
		}
	}
}

// TestOpenWithWrongTLS: a certificate that the client does not trust, and a server without TLS, end Open with the
// settings to check, and with no other advice.
func TestOpenWithWrongTLS(t *testing.T) {
	secure := httptest.NewUnstartedServer(nil)
	secure.EnableHTTP2 = true
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	plain := httptest.NewServer(nil)
	t.Cleanup(plain.Close)
	for says, server := range map[string]*httptest.Server{
		"certificate signed by unknown authority":         secure,
		"first record does not look like a TLS handshake": plain,
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			cli, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Listener.Addr().String()}, TLS: &tls.Config{},
				Logger: zap.NewNop()})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = cli.Close() }()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err = store.Open(ctx, etcd.New(cli, etcd.Config{}), store.Config{})
			if !errors.Is(err, sequencer.ErrInvalidConfig) || !strings.Contains(err.Error(), says) ||
				!strings.Contains(err.Error(), "; check the TLS settings") ||
				strings.Contains(err.Error(), "check that etcd runs") {
				t.Errorf("Open: %v", err)
			}
		})
	}
}
