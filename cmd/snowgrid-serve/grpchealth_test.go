package main

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/cmd/snowgrid-serve/snowflakepb"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestHealthOverGRPC: the standard health service answers as a call for an ID would, for the server and for its
// service, and tells watchers of a change.
func TestHealthOverGRPC(t *testing.T) {
	args := []string{"--store", "file:" + t.TempDir(), "--window", "1s", "--max-server-cnt", "1",
		"--s3-lease-acquire-max-delay", "100ms"}
	holder := start(t, args...)
	holder.ready()
	p := start(t, args...) // which has no node until the holder ends
	conn, err := grpc.NewClient(p.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	checks := grpc_health_v1.NewHealthClient(conn)
	watch, err := checks.Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "SnowflakeID"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []grpc_health_v1.HealthCheckResponse_ServingStatus{
		grpc_health_v1.HealthCheckResponse_NOT_SERVING, grpc_health_v1.HealthCheckResponse_SERVING,
	} {
		if got, err := watch.Recv(); err != nil || got.GetStatus() != want {
			t.Fatalf("a watcher gets %v, %v; want %v; log:\n%s", got, err, want, p.logged())
		}
		_, err := snowflakepb.NewSnowflakeIDClient(conn).NextID(t.Context(), &emptypb.Empty{})
		if issues := want == grpc_health_v1.HealthCheckResponse_SERVING; issues != (err == nil) {
			t.Errorf("%v, and an ID: %v", want, err)
		}
		for _, name := range []string{"", "SnowflakeID"} {
			got, err := checks.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: name})
			if err != nil || got.GetStatus() != want {
				t.Errorf("service %q: %v, %v; want %v", name, got, err, want)
			}
		}
		all, err := checks.List(t.Context(), &grpc_health_v1.HealthListRequest{})
		if err != nil || len(all.GetStatuses()) != 2 || all.GetStatuses()[""].GetStatus() != want {
			t.Errorf("all services: %v, %v", all, err)
		}
		holder.kill()
	}
	_, err = checks.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "other"})
	if status.Code(err) != codes.NotFound {
		t.Errorf("an unknown service: %v", err)
	}
	p.stop()
	if _, err := watch.Recv(); err == nil || strings.Contains(p.logged(), "panic") {
		t.Errorf("the watcher of a process that has ended: %v", err)
	}
}

// TestHealthOverGRPCAfterAStepOfTheClock: while the clock is behind the last ID, no ID can be issued, and the service
// does not serve.
func TestHealthOverGRPCAfterAStepOfTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		def, err := sequencer.Define("default", sequencer.Config{})
		if err != nil {
			t.Fatal(err)
		}
		var back atomic.Int64
		c, err := store.Open(t.Context(), store.NewMemory(), store.Config{
			Clock: func() time.Time { return time.Now().AddDate(30, 0, 0).Add(-time.Duration(back.Load())) },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		s := newService(def, slog.New(slog.DiscardHandler))
		if err := s.attach(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if _, err := s.own.Load().Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		checks := newHealthChecks(s)
		for _, step := range []struct {
			back, wait time.Duration
			want       grpc_health_v1.HealthCheckResponse_ServingStatus
		}{
			{0, 0, grpc_health_v1.HealthCheckResponse_SERVING},
			{40 * time.Second, 15 * time.Second, grpc_health_v1.HealthCheckResponse_NOT_SERVING},
			{40 * time.Second, 40 * time.Second, grpc_health_v1.HealthCheckResponse_SERVING},
		} {
			back.Store(int64(step.back))
			time.Sleep(step.wait)
			got, err := checks.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
			if err != nil || got.GetStatus() != step.want {
				t.Errorf("%v after a step of %v: %v, %v; want %v", step.wait, step.back, got, err, step.want)
			}
		}
	})
}
