package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Swap implements [store.Store]. A record's body decides which transaction it is: a claim, a
// renewal, or the end of the holder.
func (s *etcdStore) Swap(ctx context.Context, e store.Entry) (store.Revision, error) {
	if err := s.named("swap", e.Key); err != nil {
		return "", err
	}
	if len(e.Body) == 0 {
		return "", failure.Errorf(sequencer.ErrInvalidConfig,
			"etcd: swap %q: the body is empty; give at least a nonce", e.Key)
	}
	p := s.at.locate(e.Key)
	if !p.isRecord() {
		return s.swapOther(ctx, e, p)
	}
	w := write{key: e.Key, at: p, body: e.Body}
	if e.Revision != "" {
		var ok bool
		if w.seen, ok = parseRevision(e.Revision); !ok {
			return "", changed("swap", e.Key, "revision %q is not one of a record in etcd", e.Revision)
		}
		w.conditions = p.unchanged(w.seen)
	} else {
		w.conditions = []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(p.path), "=", 0)}
	}
	r, err := record.Decode(e.Body, nil)
	switch {
	case err != nil || r.State != record.Held:
		return s.release(ctx, w, r)
	case w.seen.live != 0:
		return s.renew(ctx, w, r)
	}
	return s.claim(ctx, w, r)
}

// write is a record's body on the way to etcd.
type write struct {
	key        string
	at         place
	body       []byte
	seen       revision // zero if the record must not exist
	conditions []clientv3.Cmp
}

// claim writes a record with a new holder, and creates its live key on a new lease. No live key may
// exist, from any program.
func (s *etcdStore) claim(ctx context.Context, w write, r record.Record) (store.Revision, error) {
	if s.cfg.CompatMixed && r.Until.Sub(r.From) > spanOf(window) {
		return "", failure.Errorf(sequencer.ErrInvalidConfig,
			"etcd: claim %q: the window is %v; with CompatMixed it is at most %v, so that reports are at most %v apart",
			w.key, r.Until.Sub(r.From).Duration(), window, reportPeriod)
	}
	h := holding{w.at.path, r.Attachment}
	granted, err := s.grant(ctx, h, r)
	if err != nil {
		return "", failed("lease for", w.key, err)
	}
	w.conditions = append(w.conditions, clientv3.Compare(clientv3.CreateRevision(w.at.live), "=", 0))
	now := millis(clustertime.Tick(time.Now().UnixMilli()))
	done, err := s.commit(ctx, "claim", w, s.puts(w, r,
		clientv3.OpPut(w.at.live, now, clientv3.WithLease(granted.id)), s.tells(w.key)))
	if errors.Is(err, store.ErrChanged) {
		s.revoke(ctx, h, granted.id)
	}
	return done.revision, err
}

// renew writes a record with a later end, on the condition that its live key is on the
// holder's own lease, and keeps the lease alive.
func (s *etcdStore) renew(ctx context.Context, w write, r record.Record) (store.Revision, error) {
	h := holding{w.at.path, r.Attachment}
	mine, ok := s.leases.of(h)
	if !ok {
		return "", changed("renew", w.key, "its live key exists and is on no lease of this store")
	}
	w.conditions = append(w.conditions,
		clientv3.Compare(clientv3.LeaseValue(w.at.live), "=", mine.id),
		clientv3.Compare(clientv3.CreateRevision(w.at.live), ">", 0)) // a missing key has lease 0
	keeping, stop := context.WithCancel(ctx)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		s.keepAlive(keeping, h, mine)
	}()
	done, err := s.commit(ctx, "renew", w, s.puts(w, r))
	enough := time.AfterFunc(keepAliveMore, stop)
	<-kept
	enough.Stop()
	stop()
	if errors.Is(err, store.ErrChanged) && !done.now.isHeld(h, mine.id) {
		s.revoke(ctx, h, mine.id)
	}
	return done.revision, err
}

// release writes a record without a holder, and deletes its live key. If this store has a lease on
// the key, it revokes the lease.
func (s *etcdStore) release(ctx context.Context, w write, r record.Record) (store.Revision, error) {
	ops := s.puts(w, r, s.tells(w.key))
	if w.seen.live != 0 {
		ops = append(ops, clientv3.OpDelete(w.at.live, clientv3.WithPrevKV()))
	}
	done, err := s.commit(ctx, "release", w, ops)
	if h, mine := s.leases.byID(done.deleted); mine {
		s.revoke(ctx, h, done.deleted)
	}
	return done.revision, err
}

// puts returns the operations for every transaction that writes a record, after others.
func (s *etcdStore) puts(w write, r record.Record, others ...clientv3.Op) []clientv3.Op {
	ops := append(others, clientv3.OpPut(w.at.path, string(w.body)))
	if last, ok := s.lastReported(r); ok {
		ops = append(ops, clientv3.OpPut(w.at.reported, millis(last)))
	}
	return ops
}

// lastReported returns the time to report to original workers (E7): the last used one, or
// with CompatMixed the last usable one. It is never below such a worker's report, because the
// record's bound is not. It returns false if the record has no such time.
func (s *etcdStore) lastReported(r record.Record) (clustertime.Tick, bool) {
	switch {
	case s.cfg.CompatMixed:
		return r.Bound - 1, r.Bound > 0
	case r.State == record.Held:
		return r.LastUsed, r.LastUsed >= r.From && r.LastUsed > 0
	case r.State == record.Free:
		return r.LastUsed, r.LastUsed == r.Bound-1 && r.LastUsed > 0
	}
	return 0, false
}

// outcome is a transaction's result for a record.
type outcome struct {
	revision store.Revision   // the written record's
	deleted  clientv3.LeaseID // the lease on a deleted live key
	now      node             // the keys after it
}

// commit writes a record. If its conditions failed although the record has exactly this body, an
// earlier copy of the transaction was carried out, which also counts as success.
func (s *etcdStore) commit(ctx context.Context, op string, w write, ops []clientv3.Op) (outcome, error) {
	reads := w.at.reads()
	res, err := s.cli.Txn(ctx).If(w.conditions...).Then(append(ops, reads...)...).Else(reads...).Commit()
	if err != nil {
		return outcome{}, failed(op, w.key, err)
	}
	done := outcome{now: lastNode(res.Responses)}
	for _, r := range res.Responses {
		for _, kv := range r.GetResponseDeleteRange().GetPrevKvs() {
			done.deleted = clientv3.LeaseID(kv.Lease)
		}
	}
	written := res.Succeeded || (sameBody(done.now.record, w.body) && hasNonce(w.body))
	if !written {
		return done, changed(op, w.key, "it is at revision %s, not %s", done.now.revision().text(), w.seen.text())
	}
	done.revision = done.now.revision().text()
	return done, nil
}

// swapOther writes a key that is not a record.
func (s *etcdStore) swapOther(ctx context.Context, e store.Entry, p place) (store.Revision, error) {
	seen, ok := parseOther(e.Revision)
	if !ok {
		return "", changed("swap", e.Key, "revision %q is not one of a key in etcd", e.Revision)
	}
	res, err := s.cli.Txn(ctx).
		If(clientv3.Compare(clientv3.ModRevision(p.path), "=", seen)).
		Then(clientv3.OpPut(p.path, string(e.Body)), s.tells(e.Key)).
		Else(clientv3.OpGet(p.path)).
		Commit()
	if err != nil {
		return "", failed("swap", e.Key, err)
	}
	if res.Succeeded {
		return otherRevision(res.Header.Revision), nil
	}
	now := firstOf(res.Responses[0])
	if sameBody(now, e.Body) && hasNonce(e.Body) {
		return otherRevision(now.ModRevision), nil
	}
	return "", changed("swap", e.Key, "it is not at revision %q", e.Revision)
}

// hasNonce reports whether no second write can have the same body.
func hasNonce(body []byte) bool {
	var b struct {
		Nonce string `json:"nonce"`
		Grant struct {
			Nonce string `json:"nonce"`
		} `json:"grant"`
	}
	return json.Unmarshal(body, &b) == nil && b.Nonce+b.Grant.Nonce != ""
}

// changed returns an error for a write that was not carried out and will not be.
func changed(op, key, format string, args ...any) error {
	return fmt.Errorf("etcd: %s %q: %s: %w", op, key, fmt.Sprintf(format, args...), store.ErrChanged)
}
