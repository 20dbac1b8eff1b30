// Package kv has the common parts of the stores over etcd: errors, the proof of a write, and watches.
package kv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// refusals are the answers by which etcd refuses a client that is set up wrongly.
var refusals = []error{
	rpctypes.ErrPermissionDenied, rpctypes.ErrUserEmpty, rpctypes.ErrUserNotFound, rpctypes.ErrAuthFailed,
	rpctypes.ErrInvalidAuthToken, rpctypes.ErrAuthNotEnabled, rpctypes.ErrRoleNotFound,
}

// Failed returns a call's error, with the reason why the client has no connection if it has none. The outcome of a
// failed write is undetermined.
func Failed(cli *clientv3.Client, op, key string, err error) error {
	answer := rpctypes.Error(err)
	for _, refusal := range refusals {
		if errors.Is(answer, refusal) {
			return failure.Errorf(sequencer.ErrInvalidConfig,
				"etcd: %s %q: %w; give the client a user whose role may read and write all keys with the store's prefix",
				op, key, err)
		}
	}
	if errors.Is(answer, rpctypes.ErrNoSpace) {
		return failure.Errorf(sequencer.ErrUnavailable, "etcd: %s %q: %w; compact and defragment etcd, then disarm its alarm",
			op, key, err)
	}
	if cause := unconnected(cli); cause != "" {
		advice := "; check that etcd runs and is reachable"
		if strings.Contains(cause, "x509: ") || strings.Contains(cause, "tls: ") {
			advice = "" // package store has one
		}
		return failure.Errorf(sequencer.ErrUnavailable, "etcd: %s %q: no connection: %s: %w%s", op, key, cause, err, advice)
	}
	return failure.Errorf(sequencer.ErrUnavailable,
		"etcd: %s %q: no answer: %w; check that a majority of etcd is reachable", op, key, err)
}

// causeWithin is the maximum time for the cause of a missing connection, which gRPC has in memory.
const causeWithin = 50 * time.Millisecond

// unconnected returns the reason why a client has no connection, "" if it has one or is not known to lack one. A
// client of etcd replaces the reason by the end of the call's context.
func unconnected(cli *clientv3.Client) string {
	conn := cli.ActiveConnection()
	if conn == nil || conn.GetState() != connectivity.TransientFailure {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), causeWithin)
	defer cancel()
	// Without a connection the call ends before it is sent.
	err := conn.Invoke(ctx, etcdserverpb.Maintenance_Status_FullMethodName, &etcdserverpb.StatusRequest{},
		&etcdserverpb.StatusResponse{}, grpc.WaitForReady(false))
	if status.Code(err) != codes.Unavailable {
		return ""
	}
	return status.Convert(err).Message()
}

// Missing returns the error for an engine's key that does not exist at its path in etcd.
func Missing(key, path string) error {
	return fmt.Errorf("etcd: load %q: %q does not exist: %w", key, path, store.ErrNoRecord)
}

// Changed returns the error for a write that was not carried out and will not be.
func Changed(op, key, format string, args ...any) error {
	return fmt.Errorf("etcd: %s %q: %s: %w", op, key, fmt.Sprintf(format, args...), store.ErrChanged)
}

// Check returns an error if a call cannot be made for want of a client.
func Check(cli *clientv3.Client, op, key string) error {
	if cli == nil {
		return failure.Errorf(sequencer.ErrInvalidConfig,
			"etcd: %s %q: the store has no client; give New a *clientv3.Client", op, key)
	}
	return nil
}

// CheckKey is Check for a call with one key, which must not be empty.
func CheckKey(cli *clientv3.Client, op, key string) error {
	if key == "" {
		return failure.Errorf(sequencer.ErrInvalidConfig, "etcd: %s: the key is empty; give a path", op)
	}
	return Check(cli, op, key)
}

// IsWrite reports whether a stored body is the sent one and only this write can have stored it.
func IsWrite(stored, sent []byte) bool {
	var b struct {
		Nonce string `json:"nonce"`
		Grant struct {
			Nonce string `json:"nonce"`
		} `json:"grant"`
	}
	return string(stored) == string(sent) && json.Unmarshal(sent, &b) == nil && b.Nonce+b.Grant.Nonce != ""
}

// First returns the first key that an operation has read, nil if there is none.
func First(r *etcdserverpb.ResponseOp) *mvccpb.KeyValue {
	if kvs := r.GetResponseRange().GetKvs(); len(kvs) > 0 {
		return kvs[0]
	}
	return nil
}
