package main

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/cmd/snowgrid-serve/snowflakepb"
	"github.com/snowgrid/snowgrid/sequencer"
)

// serveFor serves a definition from a store in memory, and returns the address for gRPC.
func serveFor(t *testing.T, def sequencer.Definition) (*service, *servers, string) {
	t.Helper()
	c, err := store.Open(t.Context(), store.NewMemory(), store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	log := slog.New(slog.DiscardHandler)
	s := newService(def, log)
	if err := s.attach(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	var at listeners
	for _, ln := range []*net.Listener{&at.http, &at.grpc} {
		if *ln, err = new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	web := serving(s, at, "127.0.0.1:0", log, func(err error) { t.Error(err) })
	t.Cleanup(web.stop)
	return s, web, at.grpc.Addr().String()
}

// TestStopWaitsForCallsInProgress: calls over gRPC that were accepted before the signal return their IDs.
func TestStopWaitsForCallsInProgress(t *testing.T) {
	def, err := sequencer.Define("default", sequencer.Config{Layout: sequencer.Layout{Bits: 53, LowBits: 10, Nodes: 64}})
	if err != nil {
		t.Fatal(err)
	}
	s, web, addr := serveFor(t, def)
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	const calls, n = 4, 1024 // a millisecond has 16 IDs, and stop gives the calls a second
	var done sync.WaitGroup
	for range calls {
		done.Go(func() {
			stream, err := snowflakepb.NewSnowflakeIDClient(conn).NextMultipleIDs(t.Context(), wrapperspb.UInt32(n))
			got := 0
			for ; err == nil; got++ {
				_, err = stream.Recv()
			}
			if !errors.Is(err, io.EOF) || got != n+1 {
				t.Errorf("a call had %d of %d IDs: %v", got-1, n, err)
			}
		})
	}
	for end := time.Now().Add(10 * time.Second); s.requests.Load() < calls; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d of %d calls are in progress", s.requests.Load(), calls)
		}
	}
	web.stop()
	done.Wait()
}
