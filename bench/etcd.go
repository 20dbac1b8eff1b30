package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/snowgrid/snowgrid/internal/loopback"
)

// holdSeconds is the lease TTL, equal to a grid's window.
const holdSeconds = 15

// etcdKeeper starts three etcd servers that assign logical nodes by leases and keys. The
// error matches exec.ErrNotFound if PATH has no etcd.
func etcdKeeper(ctx context.Context) (*keeper, error) {
	c, version, end, err := startEtcd(ctx)
	if err != nil {
		return nil, err
	}
	e := &etcdCalls{client: c, held: make([]clientv3.LeaseID, callers), created: make([][]clientv3.LeaseID, callers)}
	return &keeper{
		name:     fmt.Sprintf("etcd %s, %d servers", version, gridSize),
		steps:    []step{{"lease grant", e.grant}, {"transaction", e.acquire}},
		giveBack: e.giveBack,
		toAndFro: "lease grant, transaction, revoke",
		creates:  []step{{"transaction that creates", e.create}, {"the same, lease grant, transaction", e.createAndAttach}},
		clean:    e.clean,
		end:      end,
	}, nil
}

// startEtcd starts three etcd servers, and returns a client. The error matches exec.ErrNotFound if
// PATH has no etcd.
func startEtcd(ctx context.Context) (c *clientv3.Client, version string, end func(), err error) {
	path, err := exec.LookPath("etcd")
	if err != nil {
		return nil, "", nil, err
	}
	dir, err := os.MkdirTemp("", "bench-etcd-")
	if err != nil {
		return nil, "", nil, err
	}
	var started []*process
	end = func() { endAll(started); _ = os.RemoveAll(dir) }
	failed := func(err error) (*clientv3.Client, string, func(), error) {
		end()
		return nil, "", nil, err
	}
	addrs, err := loopback.FreeAddrs(2 * gridSize)
	if err != nil {
		return failed(err)
	}
	clients, peers := addrs[:gridSize], addrs[gridSize:]
	for i := range gridSize {
		p, err := startProcess(exec.Command(path, etcdArgs(dir, clients, peers, i)...))
		if err != nil {
			return failed(err)
		}
		started = append(started, p)
	}
	if c, err = clientv3.New(clientv3.Config{Endpoints: clients, Logger: zap.NewNop()}); err != nil {
		return failed(err)
	}
	servers := end
	end = func() { _ = c.Close(); servers() }
	if version, err = awaitEtcd(ctx, c, started); err != nil {
		return failed(err)
	}
	return c, version, end, nil
}

// etcdArgs returns a server's arguments.
func etcdArgs(dir string, clients, peers []string, i int) []string {
	var all []string
	for j, addr := range peers {
		all = append(all, fmt.Sprintf("s%d=http://%s", j, addr))
	}
	return []string{
		"--name", fmt.Sprintf("s%d", i), "--data-dir", filepath.Join(dir, fmt.Sprintf("s%d", i)),
		"--listen-client-urls", "http://" + clients[i], "--advertise-client-urls", "http://" + clients[i],
		"--listen-peer-urls", "http://" + peers[i], "--initial-advertise-peer-urls", "http://" + peers[i],
		"--initial-cluster", strings.Join(all, ","), "--initial-cluster-state", "new",
		"--logger", "zap", "--log-level", "error",
	}
}

// awaitEtcd returns the servers' version once each has a leader.
func awaitEtcd(ctx context.Context, c *clientv3.Client, servers []*process) (version string, err error) {
	for i, p := range servers {
		err := p.await(ctx, func(ctx context.Context) error {
			status, err := c.Status(ctx, c.Endpoints()[i])
			if err != nil {
				return err
			}
			if status.Leader == 0 {
				return errors.New("etcd has no leader yet")
			}
			version = status.Version
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	return version, nil
}

// etcdCalls has an etcd client's calls, by caller.
type etcdCalls struct {
	client  *clientv3.Client
	held    []clientv3.LeaseID
	created [][]clientv3.LeaseID
}

func (e *etcdCalls) grant(ctx context.Context, caller, _ int) error {
	granted, err := e.client.Grant(ctx, holdSeconds)
	if err == nil {
		e.held[caller] = granted.ID
	}
	return err
}

// acquire acquires a free key.
func (e *etcdCalls) acquire(ctx context.Context, caller, _ int) error {
	return e.put(ctx, fmt.Sprintf("held/%d", caller), clientv3.WithLease(e.held[caller]))
}

func (e *etcdCalls) giveBack(ctx context.Context, caller int) error {
	_, err := e.client.Revoke(ctx, e.held[caller])
	return err
}

// put creates a key; an existing key is an error.
func (e *etcdCalls) put(ctx context.Context, key string, opts ...clientv3.OpOption) error {
	res, err := e.client.Txn(ctx).
		If(clientv3.Compare(clientv3.Version(key), "=", 0)).
		Then(clientv3.OpPut(key, "holder", opts...)).
		Commit()
	if err == nil && !res.Succeeded {
		return fmt.Errorf("etcd: %s exists already", key)
	}
	return err
}

func (e *etcdCalls) create(ctx context.Context, caller, number int) error {
	return e.put(ctx, fmt.Sprintf("created/%d/%d", caller, number))
}

// createAndAttach creates a key, and acquires one of its logical nodes.
func (e *etcdCalls) createAndAttach(ctx context.Context, caller, number int) error {
	if err := e.create(ctx, caller, number); err != nil {
		return err
	}
	granted, err := e.client.Grant(ctx, holdSeconds)
	if err != nil {
		return err
	}
	e.created[caller] = append(e.created[caller], granted.ID)
	return e.put(ctx, fmt.Sprintf("created/%d/%d/0", caller, number), clientv3.WithLease(granted.ID))
}

// clean removes a caller's keys.
func (e *etcdCalls) clean(ctx context.Context, caller int) error {
	for _, id := range e.created[caller] {
		if _, err := e.client.Revoke(ctx, id); err != nil {
			return err
		}
	}
	e.created[caller] = nil
	_, err := e.client.Delete(ctx, fmt.Sprintf("created/%d/", caller), clientv3.WithPrefix())
	return err
}
