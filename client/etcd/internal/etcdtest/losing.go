package etcdtest

import (
	"context"
	"sync/atomic"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Losing makes a client that carries out transactions and loses answers.
type Losing struct {
	code atomic.Uint32 // the status in place of the next answer, OK for the answer itself
	sent atomic.Int64  // conditional transactions since then
}

// LoseNext loses the answer to the next conditional transaction.
func (l *Losing) LoseNext() { l.Lose(codes.Unavailable) }

// Lose puts a status in place of the answer to the next conditional transaction.
func (l *Losing) Lose(c codes.Code) {
	l.sent.Store(0)
	l.code.Store(uint32(c))
}

// Client returns a client of the shared server.
func (l *Losing) Client(t *testing.T) *clientv3.Client {
	t.Helper()
	lose := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
		opts ...grpc.CallOption) error {
		err := invoke(ctx, method, req, reply, cc, opts...)
		txn, is := req.(*etcdserverpb.TxnRequest)
		if code := codes.Code(l.code.Load()); is && len(txn.Compare) > 0 && code != codes.OK && err == nil {
			if l.sent.Add(1) == 1 {
				return status.Error(code, "the answer is lost")
			}
		}
		return err
	}
	c, err := Shared(t).Client(clientv3.Config{DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(lose)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Sent returns how many conditional transactions the client has sent since the last call of Lose.
func (l *Losing) Sent() int64 { return l.sent.Load() }
