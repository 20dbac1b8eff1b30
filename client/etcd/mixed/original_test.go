package mixed_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// original stands for a worker of the snowflake service on etcd: it claims, reports and
// ends by the same transactions and rules (E1 to E3, E5 to E9), with shorter periods.
type original struct {
	cli    *clientv3.Client
	prefix string
	ttl    int64
	period time.Duration // 3 s there
	guard  time.Duration // 3 s there
	clock  func() time.Time

	node  int
	lease clientv3.LeaseID
	last  atomic.Int64 // the last timestamp that it used
	ended atomic.Bool
}

var errExhausted = errors.New("exhausted all worker IDs")

func (o *original) key(dir string, n int) string {
	return fmt.Sprintf("%sworkers/%s/%d", o.prefix, dir, n)
}

// start claims the lowest node below nodes that may be claimed.
func (o *original) start(ctx context.Context, nodes int) error {
	granted, err := o.cli.Grant(ctx, o.ttl)
	if err != nil {
		return err
	}
	o.lease = granted.ID
	live, err := o.cli.Get(ctx, o.key("live", 0)[:len(o.key("live", 0))-1], clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return err
	}
	inUse := map[string]bool{}
	for _, kv := range live.Kvs {
		inUse[string(kv.Key)] = true
	}
	for n := range nodes {
		if inUse[o.key("live", n)] {
			continue
		}
		claimed, err := o.claim(ctx, n)
		if claimed || err != nil {
			return err
		}
	}
	o.stop(ctx)
	return errExhausted
}

// claim tries to claim a node.
func (o *original) claim(ctx context.Context, n int) (bool, error) {
	now := o.clock().UnixMilli()
	got, err := o.cli.Txn(ctx).
		If(clientv3.Compare(clientv3.Version(o.key("live", n)), "=", 0)).
		Then(clientv3.OpPut(o.key("live", n), strconv.FormatInt(now, 10), clientv3.WithLease(o.lease)),
			clientv3.OpGet(o.key("last_reported_time", n))).
		Else(clientv3.OpGet(o.key("live", n))).
		Commit()
	if err != nil || !got.Succeeded {
		return false, err
	}
	if kvs := got.Responses[1].GetResponseRange().Kvs; len(kvs) > 0 {
		last, err := strconv.ParseInt(strings.TrimSpace(string(kvs[0].Value)), 10, 64)
		if err != nil {
			return false, err
		}
		if now < last+o.guard.Milliseconds() { // E5
			_, err := o.cli.Delete(ctx, o.key("live", n))
			return false, err
		}
		o.last.Store(last)
	}
	o.node = n
	return true, nil
}

// use issues an ID with the present time, and returns it.
func (o *original) use() int64 {
	now := max(o.clock().UnixMilli(), o.last.Load()+1)
	o.last.Store(now)
	return now
}

// report is the heartbeat. After a failed one the worker has ended (E8).
func (o *original) report(ctx context.Context) error {
	got, err := o.cli.Txn(ctx).
		If(clientv3.Compare(clientv3.LeaseValue(o.key("live", o.node)), "=", o.lease)).
		Then(clientv3.OpPut(o.key("last_reported_time", o.node), strconv.FormatInt(o.last.Load(), 10))).
		Commit()
	if err == nil && !got.Succeeded {
		err = errors.New("the node was lost")
	}
	if err == nil {
		_, err = o.cli.KeepAliveOnce(ctx, o.lease)
	}
	if err != nil {
		o.ended.Store(true)
	}
	return err
}

// stop revokes the lease (E9).
func (o *original) stop(ctx context.Context) {
	o.ended.Store(true)
	_, _ = o.cli.Revoke(ctx, o.lease)
}
