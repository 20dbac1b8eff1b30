package main

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/snowgrid/snowgrid/cmd/snowgrid-serve/snowflakepb"
)

// healthEvery is the interval at which a watcher's status is compared with the service's.
const healthEvery = 250 * time.Millisecond

// healthChecks is the service grpc.health.v1.Health: the server, and its service SnowflakeID, serve while an ID can be
// issued. Callers need no certificate for it.
type healthChecks struct {
	*health.Server
	service *service
	mu      sync.Mutex // orders updates of the status
}

func newHealthChecks(s *service) *healthChecks {
	return &healthChecks{Server: health.NewServer(), service: s}
}

func (h *healthChecks) update() {
	h.mu.Lock()
	defer h.mu.Unlock()
	status := grpc_health_v1.HealthCheckResponse_SERVING
	if h.service.issuing() != nil {
		status = grpc_health_v1.HealthCheckResponse_NOT_SERVING
	}
	for _, name := range []string{"", snowflakepb.SnowflakeID_ServiceDesc.ServiceName} {
		h.SetServingStatus(name, status)
	}
}

func (h *healthChecks) Check(ctx context.Context,
	in *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	h.update()
	return h.Server.Check(ctx, in)
}

func (h *healthChecks) List(ctx context.Context,
	in *grpc_health_v1.HealthListRequest) (*grpc_health_v1.HealthListResponse, error) {
	h.update()
	return h.Server.List(ctx, in)
}

func (h *healthChecks) Watch(in *grpc_health_v1.HealthCheckRequest, to grpc_health_v1.Health_WatchServer) error {
	h.update()
	ctx, cancel := context.WithCancel(to.Context())
	var following sync.WaitGroup
	following.Go(func() {
		ticker := time.NewTicker(healthEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				h.update()
			case <-ctx.Done():
				return
			}
		}
	})
	defer following.Wait()
	defer cancel()
	return h.Server.Watch(in, to)
}
