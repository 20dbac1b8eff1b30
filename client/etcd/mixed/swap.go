package mixed

import (
	"context"
	"errors"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowgrid/snowgrid/client/etcd/internal/kv"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Swap implements [store.Store]. For a shared node it is a claim, a renewal, or the end of the
// holder.
func (s *mixedStore) Swap(ctx context.Context, e store.Entry) (store.Revision, error) {
	p, shared := s.at.locate(e.Key)
	if !shared || s.cli == nil || len(e.Body) == 0 {
		return s.plain.Swap(ctx, e)
	}
	seen, ok := parseRevision(e.Revision)
	if !ok {
		return "", kv.Changed("swap", e.Key, "revision %q is not one of a shared node", e.Revision)
	}
	r, err := record.Decode(e.Body, nil)
	w := write{key: e.Key, at: p, body: e.Body, seen: seen, ops: []clientv3.Op{clientv3.OpPut(p.record, string(e.Body))}}
	if err == nil && r.Bound > 0 {
		// Never below a worker's report, since the bound that the node appears with is above it.
		w.ops = append(w.ops, clientv3.OpPut(p.reported, millis(r.Bound-1)))
	}
	if !e.Renewal {
		w.ops = append(w.ops, clientv3.OpPut(s.at.plain(), e.Key))
	}
	switch {
	case err != nil || r.State != record.Held:
		return s.release(ctx, w)
	case r.Attachment == seen.holder:
		return s.renew(ctx, w)
	case seen.live != 0:
		return "", kv.Changed("claim", e.Key, "its live key exists")
	}
	return s.claim(ctx, w, r)
}

// write is a record's body on the way to etcd.
type write struct {
	key  string
	at   place
	body []byte
	seen revision // zero if the record must not exist
	ops  []clientv3.Op
}

// claim writes a record with a new holder, and creates its live key on a new lease. No live key may
// exist, from any program.
func (s *mixedStore) claim(ctx context.Context, w write, r record.Record) (store.Revision, error) {
	if long := r.Until.Sub(r.From).Duration(); long > s.windowMax {
		return "", failure.Errorf(sequencer.ErrInvalidConfig,
			"etcd: claim %q: the window is %v; next to workers of the snowflake service it is at most %v, so that reports are "+
				"at most %v apart",
			w.key, long, s.windowMax, reportPeriod)
	}
	lease, err := s.grant(ctx, r)
	if err != nil {
		return "", kv.Failed(s.cli, "lease for", w.key, err)
	}
	now := millis(clustertime.Tick(time.Now().UnixMilli()))
	w.ops = append(w.ops, clientv3.OpPut(w.at.live, now, clientv3.WithLease(lease)))
	done, err := s.commit(ctx, "claim", w, w.at.unchanged(w.seen))
	if isKnown := err == nil || errors.Is(err, store.ErrChanged); isKnown && done.now.lease() != lease {
		s.revoke(ctx, lease) // it lost, or an earlier copy of it has won
	}
	return done.revision, err
}

// renew writes a record with a later end, and keeps the lease on its live key alive.
func (s *mixedStore) renew(ctx context.Context, w write) (store.Revision, error) {
	done, err := s.commit(ctx, "renew", w, w.at.unchanged(w.seen))
	if err == nil { // If the lease has ended, the next renewal's transaction fails.
		ctx, cancel := context.WithTimeout(ctx, leaseCallWithin)
		defer cancel()
		_, _ = s.cli.KeepAliveOnce(ctx, done.now.lease())
	}
	return done.revision, err
}

// release writes a record without a holder, and ends the live key with its lease.
func (s *mixedStore) release(ctx context.Context, w write) (store.Revision, error) {
	conditions := w.at.unchanged(w.seen)
	if w.seen.record == 0 {
		conditions = conditions[:1] // a new record; workers may have used the node before
	}
	if w.seen.live != 0 {
		w.ops = append(w.ops, clientv3.OpDelete(w.at.live, clientv3.WithPrevKV()))
	}
	done, err := s.commit(ctx, "release", w, conditions)
	if done.deleted != clientv3.NoLease {
		s.revoke(ctx, done.deleted)
	}
	return done.revision, err
}

// outcome is a transaction's result for a node.
type outcome struct {
	revision store.Revision   // the written record's
	now      node             // the keys after the transaction
	deleted  clientv3.LeaseID // the lease on a deleted live key
}

// commit writes a record. If its conditions failed although the node appears with exactly this body,
// an earlier copy of the transaction was carried out, which also counts as success.
func (s *mixedStore) commit(ctx context.Context, op string, w write, conditions []clientv3.Cmp) (outcome, error) {
	reads := w.at.reads()
	res, err := s.cli.Txn(ctx).If(conditions...).Then(append(w.ops, reads...)...).Else(reads...).Commit()
	if err != nil {
		return outcome{}, kv.Failed(s.cli, op, w.key, err)
	}
	done := outcome{now: lastNode(res.Responses)}
	for _, r := range res.Responses {
		for _, old := range r.GetResponseDeleteRange().GetPrevKvs() {
			done.deleted = clientv3.LeaseID(old.Lease)
		}
	}
	written := res.Succeeded || (done.now.record != nil && kv.IsWrite(done.now.shown(time.Now()), w.body))
	if !written {
		return done, kv.Changed(op, w.key, "it is at revision %s, not %s", done.now.revision().text(), w.seen.text())
	}
	done.revision = done.now.revision().text()
	return done, nil
}
