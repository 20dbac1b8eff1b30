package mixed

import (
	"strconv"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// layout is the common prefix of the workers' keys and the plain store's.
type layout string

// place has the paths in etcd of one shared node's keys.
type place struct{ record, reported, live string }

// plain returns the plain store's prefix. The plain store puts the last changed key there.
func (l layout) plain() string { return string(l) + "snowgrid/" }

// workers returns the prefix of the workers' keys.
func (l layout) workers() string { return string(l) + "workers/" }

func (l layout) live(node string) string { return l.workers() + "live/" + node }

// locate returns where the engine's key of a shared node's record is, and false for any other key.
func (l layout) locate(key string) (p place, shared bool) {
	file, ok := strings.CutPrefix(key, Sequencer+"/")
	node, is := strings.CutSuffix(file, ".json")
	if !ok || !is || !isNumber(node) {
		return place{}, false
	}
	return place{record: l.plain() + key, reported: l.workers() + "last_reported_time/" + node, live: l.live(node)}, true
}

// keyOf returns the engine's key for the node with a live key, "" if it is none.
func (l layout) keyOf(live string) string {
	node, ok := strings.CutPrefix(live, l.live(""))
	if !ok || !isNumber(node) {
		return ""
	}
	return Sequencer + "/" + node + ".json"
}

// isNumber reports whether a text is a node's number as both sides write it.
func isNumber(node string) bool {
	n, err := strconv.ParseUint(node, 10, 32)
	return err == nil && strconv.FormatUint(n, 10) == node
}

// unchanged returns the conditions under which a node is at a revision.
func (p place) unchanged(r revision) []clientv3.Cmp {
	return []clientv3.Cmp{
		clientv3.Compare(clientv3.ModRevision(p.record), "=", r.record),
		clientv3.Compare(clientv3.ModRevision(p.reported), "=", r.reported),
		clientv3.Compare(clientv3.ModRevision(p.live), "=", r.live),
	}
}

// reads returns the operations that read a node, for [lastNode].
func (p place) reads() []clientv3.Op {
	return []clientv3.Op{clientv3.OpGet(p.record), clientv3.OpGet(p.reported), clientv3.OpGet(p.live)}
}
