package etcd

import (
	"fmt"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/record"
)

// revision identifies the state of a record and the keys beside it: etcd revisions, which never
// repeat, and 0 for a key that does not exist.
type revision struct {
	record   int64 // when the record was last written
	reported int64 // when last_reported_time was last written
	live     int64 // when live was last written
}

func (r revision) text() store.Revision {
	return store.Revision(fmt.Sprintf("%d.%d.%d", r.record, r.reported, r.live))
}

// parseRevision decodes a revision that text has encoded. It returns false for any other text,
// which identifies no state of a record here.
func parseRevision(text store.Revision) (r revision, ok bool) {
	parts := strings.Split(string(text), ".")
	if len(parts) != 3 {
		return revision{}, false
	}
	for i, into := range []*int64{&r.record, &r.reported, &r.live} {
		n, err := strconv.ParseInt(parts[i], 10, 64)
		if err != nil || n < 0 {
			return revision{}, false
		}
		*into = n
	}
	return r, r.record > 0 && r.text() == text
}

// unchanged returns the conditions under which a place is in the state that r names.
func (p place) unchanged(r revision) []clientv3.Cmp {
	return []clientv3.Cmp{
		clientv3.Compare(clientv3.ModRevision(p.path), "=", r.record),
		clientv3.Compare(clientv3.ModRevision(p.reported), "=", r.reported),
		clientv3.Compare(clientv3.ModRevision(p.live), "=", r.live),
	}
}

// node has one logical node's keys, nil for a key that does not exist.
type node struct{ record, reported, live *mvccpb.KeyValue }

// revision returns the node's revision.
func (n node) revision() (r revision) {
	if n.record != nil {
		r.record = n.record.ModRevision
	}
	if n.reported != nil {
		r.reported = n.reported.ModRevision
	}
	if n.live != nil {
		r.live = n.live.ModRevision
	}
	return r
}

// isHeld reports whether the node's live key is on a lease and its record is held by the
// lease's holding.
func (n node) isHeld(h holding, id clientv3.LeaseID) bool {
	if n.live == nil || n.record == nil || clientv3.LeaseID(n.live.Lease) != id {
		return false
	}
	r, err := record.Decode(n.record.Value, nil)
	return err == nil && r.HeldBy(h.id)
}

// reads returns the operations that read a node, for [lastNode].
func (p place) reads() []clientv3.Op {
	return []clientv3.Op{clientv3.OpGet(p.path), clientv3.OpGet(p.reported), clientv3.OpGet(p.live)}
}

// lastNode returns the node that a transaction's last operations have read.
func lastNode(responses []*etcdserverpb.ResponseOp) node {
	last := responses[len(responses)-3:]
	return node{record: firstOf(last[0]), reported: firstOf(last[1]), live: firstOf(last[2])}
}

// firstOf returns the key that an operation has read, nil if it does not exist.
func firstOf(r *etcdserverpb.ResponseOp) *mvccpb.KeyValue {
	if kvs := r.GetResponseRange().GetKvs(); len(kvs) > 0 {
		return kvs[0]
	}
	return nil
}

// otherRevision returns the revision for a key without a record.
func otherRevision(modified int64) store.Revision {
	return store.Revision(strconv.FormatInt(modified, 10))
}

// parseOther decodes the revision for a key without a record, 0 if it must not exist.
func parseOther(text store.Revision) (int64, bool) {
	if text == "" {
		return 0, true
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	return n, err == nil && n > 0 && otherRevision(n) == text
}
