package host

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/audit"
	"github.com/snowgrid/snowgrid/internal/spelling"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/security"
)

// Limits that hold without any row of the quotas, for callers that proved who they are and
// are not members. A row that limits the same takes their place.
const (
	// defaultHolderNodes limits the logical nodes per sequencer and process.
	defaultHolderNodes = 1024
	// One certificate or token may have half of a sequencer's logical nodes, so that none
	// can take all, but at least leastPeerNodes, so that small sequencers work.
	leastPeerNodes = 256
	// NamesMax limits the sequencers that a member may own. Each takes some hundred bytes of its memory, and
	// of its backups'.
	NamesMax = 2_000_000
)

// Refusal is a kind of limit, for metrics.
type Refusal string

// The refusals.
const (
	RefusedNames       Refusal = "names"        // a new sequencer beyond a row
	RefusedMemory      Refusal = "memory"       // a new sequencer beyond NamesMax
	RefusedHolderNodes Refusal = "holder-nodes" // as in partition.QuotaError
	RefusedPeerNodes   Refusal = "peer-nodes"
	RefusedCalls       Refusal = "calls"
)

// Refusals are all kinds.
var Refusals = []Refusal{RefusedNames, RefusedMemory, RefusedHolderNodes, RefusedPeerNodes, RefusedCalls}

// refusals counts refusals by quotas. The zero value is ready.
type refusals struct{ counts sync.Map } // Refusal -> *atomic.Uint64

func (r *refusals) add(kind Refusal) {
	n, _ := r.counts.LoadOrStore(kind, new(atomic.Uint64))
	n.(*atomic.Uint64).Add(1)
}

func (r *refusals) read() map[Refusal]uint64 {
	out := map[Refusal]uint64{}
	for _, kind := range Refusals {
		out[kind] = 0
		if n, found := r.counts.Load(kind); found {
			out[kind] = n.(*atomic.Uint64).Load()
		}
	}
	return out
}

// peerOf returns the identity that quotas count for a request's caller: its certificate or token, or,
// without security, its address. It is "" for members and this process, which have no peer limits:
// they make calls for others, and are unrestricted.
func peerOf(ctx context.Context) partition.Peer {
	switch p := api.PeerOf(ctx); {
	case p.ID != "" && p.Role != security.Member:
		return partition.Peer(p.ID)
	case p.ID != "":
		return ""
	}
	host, _, err := net.SplitHostPort(api.RemoteOf(ctx))
	if err != nil { // this process
		return ""
	}
	return partition.Peer("addr:" + site(host))
}

type limits struct {
	*deps
	names    names
	namesMax int
	rates    rates
	creates  *Turns
}

func newLimits(d *deps) *limits {
	return &limits{deps: d, names: names{asking: make(chan struct{}, 1)}, namesMax: NamesMax, creates: newCreates()}
}

// nodesOf returns how many logical nodes a caller may have of a sequencer.
func (l *limits) nodesOf(ctx context.Context, name string, nodes int) partition.Quota {
	var out partition.Quota
	if p := api.PeerOf(ctx); p.ID != "" && p.Role != security.Member {
		out = partition.Quota{Holder: defaultHolderNodes, Peer: max(nodes/2, leastPeerNodes), HolderBy: "the default",
			PeerBy: "the default"}
	}
	q := l.state.Roster().Quota(name)
	by := func() string { return fmt.Sprintf("the quota of %q", string(q.Pattern)) }
	if q.HolderNodes > 0 {
		out.Holder, out.HolderBy = q.HolderNodes, by()
	}
	if q.PeerNodes > 0 {
		out.Peer, out.PeerBy = q.PeerNodes, by()
	}
	return out
}

func (l *limits) setQuota(ctx context.Context, c *partition.Claim) {
	c.Peer, c.Quota = peerOf(ctx), l.nodesOf(ctx, c.Ref.Definition.Name(), c.Ref.Nodes())
}

func (l *limits) refusedByQuota(ctx context.Context, kind Refusal, action security.Action, name string, err error) {
	l.counts.refused.add(kind)
	l.cfg.Audit.Write(audit.Entry{Action: string(action), Name: name, Who: api.WhoOf(ctx), Err: err})
}

// QuotaUse returns the number of sequencers in the grid per quota row, by pattern. It omits rows that a
// member has not counted, and all of them if a member has not replied or a partition changes its owner.
func (l *limits) QuotaUse(ctx context.Context) map[spelling.Pattern]int {
	r := l.state.Roster()
	all := append(l.names.others(ctx, l.deps, r, 0), l.names.own(r.Quotas...))
	out := map[spelling.Pattern]int{}
	if !l.names.cover(r, all) {
		return out
	}
	for _, q := range r.Quotas {
		if n, _, known := all.of(q.Pattern); known {
			out[q.Pattern] = n
		}
	}
	return out
}
