package main

import (
	"context"
	"crypto/tls"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/snowgrid/snowgrid/cmd/snowgrid-serve/snowflakepb"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// streamsMax is the maximum number of calls in progress on one connection, over gRPC and HTTP/2. A caller that reads
// nothing keeps their answers in memory, about 170 KB for each call for 1,024 IDs. Further calls wait at the caller.
const streamsMax = 32

// grpcWait is the maximum time for which a call waits for its IDs: longer than the largest request
// takes, and shorter than the deadline of a caller that can try another server.
const grpcWait = time.Second

// grpcHeadersMax is the maximum size of a call's metadata, in bytes. A call in progress keeps its metadata.
const grpcHeadersMax = 16 << 10

// grpcLives bounds connections: one without a call ends as an idle HTTP connection does, one whose caller answers no
// ping after two timeouts, since it does not read, and any other after a time. Callers connect again.
var grpcLives = keepalive.ServerParameters{
	MaxConnectionIdle: idleTimeout, MaxConnectionAge: 10 * time.Minute, MaxConnectionAgeGrace: serveTimeout,
	Time: serveTimeout, Timeout: serveTimeout,
}

// snowflakes is the gRPC service: IDs from the command line's sequencer.
type snowflakes struct {
	snowflakepb.UnimplementedSnowflakeIDServer
	service *service
	metrics *metrics
}

// newGRPC returns the gRPC server; conf is nil for clear text.
func newGRPC(s *service, m *metrics, conf *tls.Config, lives keepalive.ServerParameters) *grpc.Server {
	options := []grpc.ServerOption{grpc.MaxConcurrentStreams(streamsMax), grpc.MaxRecvMsgSize(bodyMax),
		grpc.ConnectionTimeout(headerTimeout), grpc.MaxHeaderListSize(grpcHeadersMax), grpc.KeepaliveParams(lives)}
	if conf != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(conf)))
	}
	server := grpc.NewServer(options...)
	snowflakepb.RegisterSnowflakeIDServer(server, &snowflakes{service: s, metrics: m})
	grpc_health_v1.RegisterHealthServer(server, newHealthChecks(s))
	return server
}

func (s *snowflakes) NextID(ctx context.Context, _ *emptypb.Empty) (*snowflakepb.IDResponse, error) {
	ids, err := s.take(ctx, 1)
	if err != nil {
		return nil, err
	}
	return &snowflakepb.IDResponse{Id: int64(ids[0])}, nil
}

// NextMultipleIDs streams IDs in ascending order.
func (s *snowflakes) NextMultipleIDs(n *wrapperspb.UInt32Value,
	to grpc.ServerStreamingServer[snowflakepb.IDResponse]) error {
	if n.GetValue() > maxIDs {
		err := status.Errorf(codes.InvalidArgument, "%d IDs are too many for one call; request at most %d",
			n.GetValue(), maxIDs)
		s.metrics.request("grpc", 0, err)
		return err
	}
	ids, err := s.take(to.Context(), int(n.GetValue()))
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := to.Send(&snowflakepb.IDResponse{Id: int64(id)}); err != nil {
			return err
		}
	}
	return nil
}

// take takes n IDs. Its errors have the original's code, Unavailable: the caller may try again, or
// try another server. Without a grant the error is immediate.
func (s *snowflakes) take(ctx context.Context, n int) ([]sequencer.ID, error) {
	ctx, cancel := context.WithTimeout(ctx, grpcWait)
	defer cancel()
	if err := s.service.access.allow(stateOf(ctx), security.IDs, s.service.def.Name()); err != nil {
		s.metrics.request("grpc", 0, err)
		code := codes.Unauthenticated
		if errors.Is(err, security.ErrDenied) {
			code = codes.PermissionDenied
		}
		return nil, status.Error(code, err.Error())
	}
	ids := make([]sequencer.ID, n)
	err := s.service.granted()
	if err == nil {
		err = s.service.begin()
	}
	if err == nil {
		err = s.service.fill(ctx, ids)
		s.service.end()
	}
	s.metrics.request("grpc", n, err)
	if err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	return ids, nil
}
