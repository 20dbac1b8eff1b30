package etcd_test

import (
	"context"
	"errors"
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
