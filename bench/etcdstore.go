package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os/exec"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowgrid/snowgrid/client/etcd"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// pair is one operation on etcd: by the store, and by the calls that a generator with a lease needs
// at least.
type pair struct {
	name, what  string
	ours, bare  func(ctx context.Context) (time.Duration, error)
	oursT, barT histogram
}

// measureEtcd compares package store over etcd with bare etcd calls, and with a grid.
func measureEtcd(ctx context.Context, b *bench) error {
	cli, version, end, err := startEtcd(ctx)
	if errors.Is(err, exec.ErrNotFound) {
		b.report.p("Not measured: no etcd in PATH.\n")
		return nil
	}
	if err != nil {
		return err
	}
	defer end()
	s := etcd.New(cli, etcd.Config{})
	c, err := store.Open(ctx, s, store.Config{})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	pairs := []*pair{attachPair(ctx, cli, c), renewalPair(cli, s)}
	for range b.size.attaches {
		for _, p := range pairs {
			if err := p.run(ctx, b.size.turn); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
	}
	h, err := c.CreateSequencer(ctx, "bits7", sequencer.Config{Nodes: 1 << 7})
	if err != nil {
		return err
	}
	over := generator{name: "snowgrid over etcd 7/16", perMilli: 65536, next: func() { _, _ = h.Next(ctx) }}
	both := append(pickNamed(b.all, "snowgrid 7/16"), over)
	spent, err := costs(ctx, both, b.size.batches)
	if err != nil {
		return err
	}
	b.writeEtcd(version, pairs, both, spent)
	return nil
}

// run measures both sides in turns.
func (p *pair) run(ctx context.Context, times int) error {
	for range times {
		for _, side := range []struct {
			call func(ctx context.Context) (time.Duration, error)
			into *histogram
		}{{p.ours, &p.oursT}, {p.bare, &p.barT}} {
			took, err := side.call(ctx)
			if err != nil {
				return err
			}
			side.into.add(took)
		}
	}
	return nil
}

// attachPair compares an attach with a lease and a transaction that creates a key. Detaching is not
// timed.
func attachPair(ctx context.Context, cli *clientv3.Client, c *store.Client) *pair {
	h, err := c.CreateSequencer(ctx, "attached", sequencer.Config{})
	if err == nil {
		err = h.DetachLogicalNode(ctx)
	}
	calls := &etcdCalls{client: cli, held: make([]clientv3.LeaseID, 1)}
	return &pair{
		name: "attach", what: "lease grant, transaction",
		ours: func(ctx context.Context) (time.Duration, error) {
			if err != nil {
				return 0, err
			}
			began := time.Now()
			err := h.AttachLogicalNode(ctx)
			return time.Since(began), errors.Join(err, h.DetachLogicalNode(ctx))
		},
		bare: func(ctx context.Context) (time.Duration, error) {
			began := time.Now()
			err := errors.Join(calls.grant(ctx, 0, 0), calls.acquire(ctx, 0, 0))
			return time.Since(began), errors.Join(err, calls.giveBack(ctx, 0))
		},
	}
}

// renewalPair compares a renewal's write with a lease keepalive and a transaction that writes a key
// if another key has the lease.
func renewalPair(cli *clientv3.Client, s store.Store) *pair {
	return &pair{
		name: "renewal", what: "keep-alive, transaction",
		ours: (&renewals{store: s}).extend,
		bare: (&bareRenewals{cli: cli}).renew,
	}
}

// renewals extends one record repeatedly.
type renewals struct {
	store  store.Store
	entry  store.Entry
	record record.Record
}

func (r *renewals) extend(ctx context.Context) (time.Duration, error) {
	life := record.NewLife(1, [8]byte{})
	b := record.Bounds{Now: clustertime.Tick(time.Now().UnixMilli()), Window: 9000, Life: life}
	if r.entry.Key == "" {
		r.entry.Key = "renewed/0.json"
		if _, err := r.swap(ctx, record.Born(life, rand.Text())); err != nil {
			return 0, err
		}
		taken, err := r.record.Take(attachment.ID{1}, "bench", rand.Text(), b)
		if err != nil {
			return 0, err
		}
		if _, err := r.swap(ctx, taken); err != nil {
			return 0, err
		}
	}
	next, err := r.record.Extend(attachment.ID{1}, nil, rand.Text(), b)
	if err != nil {
		return 0, err
	}
	r.entry.Renewal = true
	return r.swap(ctx, next)
}

func (r *renewals) swap(ctx context.Context, next record.Record) (time.Duration, error) {
	r.entry.Body, r.record = next.Encode(), next
	began := time.Now()
	var err error
	r.entry.Revision, err = r.store.Swap(ctx, r.entry)
	return time.Since(began), err
}

// bareRenewals sends one lease's heartbeats.
type bareRenewals struct {
	cli   *clientv3.Client
	lease clientv3.LeaseID
}

func (r *bareRenewals) renew(ctx context.Context) (time.Duration, error) {
	if r.lease == clientv3.NoLease {
		granted, err := r.cli.Grant(ctx, 10)
		if err != nil {
			return 0, err
		}
		r.lease = granted.ID
		if _, err := r.cli.Put(ctx, "bare/live", "1", clientv3.WithLease(r.lease)); err != nil {
			return 0, err
		}
	}
	began := time.Now()
	_, err := r.cli.KeepAliveOnce(ctx, r.lease)
	if err == nil {
		_, err = r.cli.Txn(ctx).
			If(clientv3.Compare(clientv3.LeaseValue("bare/live"), "=", r.lease)).
			Then(clientv3.OpPut("bare/last", time.Now().String())).
			Commit()
	}
	return time.Since(began), err
}

func (b *bench) writeEtcd(version string, pairs []*pair, both []generator, spent []cost) {
	b.report.p(
		"One holder over etcd %s, %d servers; medians, in turns. An attach is the reads of the marker and of the records, "+
			"and a claim; its release is not timed. The store has no leases: bare calls are the fewest for a key on a "+
			"lease.\n\n",
		version, gridSize)
	var rows [][]string
	for _, p := range pairs {
		ours, bare := p.oursT.percentile(0.5), p.barT.percentile(0.5)
		rows = append(rows, []string{p.name, inMillis(ours), p.what, inMillis(bare), times(float64(ours) / float64(bare))})
	}
	b.report.table([]string{"over etcd", "median, ms", "bare calls", "median, ms", "ratio"}, rows)
	rows = nil
	for i, g := range both {
		rows = append(rows, []string{g.name, fmt.Sprintf("%.1f", spent[i].ns), times(spent[i].ns / spent[0].ns)})
	}
	b.report.p("\nIDs are issued inside the process, so the store costs nothing between renewals.\n\n")
	b.report.table([]string{"generator", "ns an ID, median", "ratio to the grid"}, rows)
}

func inMillis(d time.Duration) string {
	return fmt.Sprintf("%.2f", float64(d)/float64(time.Millisecond))
}
