package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/sequencer"
)

// leaving is a store that is away from some time on.
type leaving struct {
	*store.Memory

	away atomic.Bool
}

func (l *leaving) Load(ctx context.Context, key string) (store.Entry, error) {
	if l.away.Load() {
		return store.Entry{}, errors.New("connection refused")
	}
	return l.Memory.Load(ctx, key)
}

func (l *leaving) Swap(ctx context.Context, e store.Entry) (store.Revision, error) {
	if l.away.Load() {
		return "", errors.New("connection refused")
	}
	return l.Memory.Swap(ctx, e)
}

// TestCallsWithoutAGrantEndImmediately: a caller over gRPC asks another server, before its own
// deadline has passed.
func TestCallsWithoutAGrantEndImmediately(t *testing.T) {
	def, err := sequencer.Define("default", sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	l := &leaving{Memory: store.NewMemory()}
	c, err := store.Open(t.Context(), l, store.Config{Window: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	s := newService(def, slog.New(slog.DiscardHandler))
	if err := s.attach(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	rpc := &snowflakes{service: s, metrics: newMetrics()}
	if _, err := rpc.NextID(t.Context(), &emptypb.Empty{}); err != nil {
		t.Fatal(err)
	}
	l.away.Store(true)
	for end := time.Now().Add(10 * time.Second); s.granted() == nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the grant does not end")
		}
	}
	for _, err := range []error{s.notReady(), s.granted()} {
		if err == nil || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("the reason is %v, which does not name the store's error", err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	began := time.Now()
	_, err = rpc.NextID(ctx, &emptypb.Empty{})
	if took := time.Since(began); status.Code(err) != codes.Unavailable || took > 2*time.Second {
		t.Errorf("after %v: %v", took, err)
	}
}
