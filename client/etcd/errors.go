package etcd

import (
	"errors"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// refusals are the answers by which etcd refuses a client that is set up wrongly.
var refusals = []error{
	rpctypes.ErrPermissionDenied, rpctypes.ErrUserEmpty, rpctypes.ErrUserNotFound, rpctypes.ErrAuthFailed,
	rpctypes.ErrInvalidAuthToken, rpctypes.ErrAuthNotEnabled, rpctypes.ErrRoleNotFound,
}

// failed returns a call's error. The outcome of a failed write is undetermined.
func failed(op, key string, err error) error {
	known := rpctypes.Error(err)
	for _, refusal := range refusals {
		if errors.Is(known, refusal) {
			return failure.Errorf(sequencer.ErrInvalidConfig,
				"etcd: %s %q: %w; give the client a user whose role may read and write all keys with the store's prefix",
				op, key, err)
		}
	}
	if errors.Is(known, rpctypes.ErrNoSpace) {
		return failure.Errorf(sequencer.ErrUnavailable, "etcd: %s %q: %w; compact and defragment etcd, then disarm its alarm",
			op, key, err)
	}
	return failure.Errorf(sequencer.ErrUnavailable,
		"etcd: %s %q: no answer: %w; check that a majority of etcd is reachable", op, key, err)
}

// usable returns an error if a call cannot be made.
func (s *etcdStore) usable(op, key string) error {
	if s.cli == nil {
		return failure.Errorf(sequencer.ErrInvalidConfig,
			"etcd: %s %q: the store has no client; give New a *clientv3.Client", op, key)
	}
	return nil
}

// named returns an error if a key is none.
func (s *etcdStore) named(op, key string) error {
	if key == "" {
		return failure.Errorf(sequencer.ErrInvalidConfig, "etcd: %s: the key is empty; give a path", op)
	}
	return s.usable(op, key)
}
