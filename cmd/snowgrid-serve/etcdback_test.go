package main

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"
)

// TestEtcdIsFoundSoonAfterAnOutage: a process tries to connect to etcd every few seconds, however long the outage.
func TestEtcdIsFoundSoonAfterAnOutage(t *testing.T) {
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tries := make(chan struct{}, 64)
	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
			tries <- struct{}{}
		}
	})
	defer group.Wait()
	defer func() { _ = ln.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	group.Go(func() {
		at, err := locateEtcd(ctx, storeFlags{}, "etcd", "//"+ln.Addr().String()+"/ids")
		if err != nil {
			t.Error(err)
			return
		}
		if o, err := at.opens(ctx, unreported); err == nil {
			o.closed()
			t.Error("a store is open without etcd")
		}
	})
	const enough = 7
	over := time.After(15 * time.Second) // with the pauses of gRPC's default the seventh try is after 25 s
	for n := range enough {
		select {
		case <-tries:
		case <-over:
			t.Fatalf("%d tries in 15 s, want %d", n, enough)
		}
	}
}
