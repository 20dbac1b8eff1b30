package mixed

import (
	"fmt"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowgrid/snowgrid/client/etcd/internal/kv"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/record"
)

// revision identifies the state of a record and the keys beside it: etcd revisions, which never
// repeat, and 0 for a key that does not exist.
type revision struct {
	record, reported, live int64
	// holder has the record and the live key: it may renew. Zero if there is none, or a worker has
	// the live key.
	holder attachment.ID
}

func (r revision) text() store.Revision {
	return store.Revision(fmt.Sprintf("%d.%d.%d.%x", r.record, r.reported, r.live, r.holder[:]))
}

// parseRevision decodes a revision that text has encoded, or "", by which a record must not exist. It
// returns false for any other text.
func parseRevision(text store.Revision) (r revision, ok bool) {
	if text == "" {
		return r, true
	}
	var holder []byte
	_, err := fmt.Sscanf(string(text), "%d.%d.%d.%x", &r.record, &r.reported, &r.live, &holder)
	copy(r.holder[:], holder)
	return r, err == nil && r.record > 0 && r.text() == text
}

// node has one logical node's keys, nil for a key that does not exist.
type node struct{ record, reported, live *mvccpb.KeyValue }

// lease returns the lease of the live key, NoLease if there is none.
func (n node) lease() clientv3.LeaseID { return clientv3.LeaseID(n.live.GetLease()) }

// lastNode returns the node that a transaction's last operations have read.
func lastNode(responses []*etcdserverpb.ResponseOp) node {
	last := responses[len(responses)-3:]
	return node{record: kv.First(last[0]), reported: kv.First(last[1]), live: kv.First(last[2])}
}

func (n node) revision() revision {
	r := revision{record: n.record.GetModRevision(), reported: n.reported.GetModRevision(), live: n.live.GetModRevision()}
	if held, err := record.Decode(n.record.GetValue(), nil); err == nil && n.live != nil && !n.foreign(held) {
		r.holder = held.Attachment
	}
	return r
}
