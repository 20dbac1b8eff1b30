package grants

import (
	"errors"
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

var seeds = flag.Uint64("seeds", 200, "runs of TestOneTable")

const window = 40 // ms, so that processes often use one millisecond

// owner is the owner of a sequencer: the real table, and the replies about a token as a member makes them. Time
// is the grid's.
type owner struct {
	rand     *rand.Rand
	table    *partition.Table
	ref      attachment.Ref
	now      clustertime.Tick
	ceiling  clustertime.Tick
	released map[attachment.ID]bool
}

func newOwner(t *testing.T, rand *rand.Rand, now clustertime.Tick) *owner {
	t.Helper()
	layout := sequencer.Layout{Bits: 50, LowBits: 6, Nodes: 16} // four IDs per millisecond
	def, err := sequencer.Define("orders", sequencer.Config{Layout: layout})
	if err != nil {
		t.Fatal(err)
	}
	o := &owner{rand: rand, table: partition.NewTable(), ref: attachment.Ref{Definition: def, Life: attachment.Life{1}},
		now: now, ceiling: now + window, released: map[attachment.ID]bool{}}
	if o.ref, _, err = o.table.Create(o.ref, now); err != nil {
		t.Fatal(err)
	}
	return o
}

// passes moves time, and the ceiling ahead of it.
func (o *owner) passes(ms int64) {
	o.now += clustertime.Tick(ms)
	o.ceiling = max(o.ceiling, o.now+window)
}

// begins begins a term: another owner whose table has everything but renewals, or, after a loss, the definition alone.
func (o *owner) begins(lost bool) {
	o.ceiling = max(o.ceiling, o.now+window)
	o.table.BecomeOwner(o.ceiling, lost, true)
	if lost {
		o.ref, _, _ = o.table.Create(o.ref, o.now) // from a disk
	}
}

// serve answers a request for a grant.
func (o *owner) serve(grant string) (Reply, error) {
	bounds := partition.Bounds{Now: o.now, Ceiling: o.ceiling}
	token := wire.GrantToken{Sequencer: wire.SequencerOf(o.ref), Turn: o.rand.Uint64() >> 2}
	if grant == "" {
		if _, err := o.table.Open("orders"); err != nil {
			return Reply{}, err
		}
		claim := partition.Claim{Ref: o.ref, ID: token.ID(), Preference: attachment.Preference{Any: true}}
		return o.attach(token, claim, bounds)
	}
	token, err := wire.ParseGrantToken(grant)
	if err != nil {
		return Reply{}, err
	}
	if o.released[token.ID()] {
		return Reply{}, sequencer.ErrDetached
	}
	a, _, err := o.table.Renew(o.claim(token), bounds)
	if err == nil {
		return o.reply(token, a)
	}
	if !partition.LostNode(err) {
		return Reply{}, err
	}
	token = token.Next()
	return o.attach(token, o.claim(token), bounds)
}

// claim is a token's claim. A name that a loss made the table forget is created again from it.
func (o *owner) claim(token wire.GrantToken) partition.Claim {
	return partition.Claim{Ref: o.ref, ID: token.ID(), Preference: attachment.Preference{Node: token.Node},
		Until: token.Until, Trust: partition.Trust{Forgotten: true, Before: true}}
}

func (o *owner) attach(token wire.GrantToken, c partition.Claim, b partition.Bounds) (Reply, error) {
	if o.released[c.ID] {
		return Reply{}, sequencer.ErrDetached
	}
	a, _, err := o.table.Attach(c, b)
	if err != nil {
		return Reply{}, err
	}
	return o.reply(token, a)
}

func (o *owner) reply(token wire.GrantToken, a attachment.Attachment) (Reply, error) {
	r, err := wire.GrantResponseOf(token.Sequencer, a.Node, a.Grant, o.now, window, 0)
	token = token.With(a.Node, a.Grant, wire.Stamp{Grid: roster.GridID{1}})
	return Reply{Grant: token.String(), Node: int64(a.Node), Epoch: r.Epoch, TimeShift: r.TimeShift,
		NodeShift: r.NodeShift, Counters: r.Counters, From: int64(a.Grant.From), Until: int64(a.Grant.Until),
		Now: int64(o.now), RenewIn: window / 4, Ends: r.Ends}, err
}

// release serves a release.
func (o *owner) release(grant string, last int64) {
	if token, err := wire.ParseGrantToken(grant); err == nil && o.table.Detach(o.ref, attachment.Release{ID: token.ID(),
		Node: token.Node, LastUsed: clustertime.Tick(last)}) {
		o.released[token.ID()] = true
	}
}

// expire ends a session too early, which is safe: the node's next holder begins above all that was granted.
func (o *owner) expire() {
	if tenants := o.table.Tenants(); len(tenants) > 0 {
		t := tenants[o.rand.IntN(len(tenants))]
		o.table.Expire(t.Name, t.Node, t.ID, o.ceiling)
	}
}

// user is a process, with a monotonic clock that is up to 10 % fast or slow.
type user struct {
	*Generator
	rate   float64
	offset int64
	last   int64
}

func (u *user) at(o *owner) int64 { return u.offset + int64(u.rate*float64(o.now-began)) }

// request makes one request; its reply may be lost.
func (u *user) request(o *owner) {
	if _, ready := u.Due(); !ready {
		return
	}
	reply, err := o.serve(u.Request(u.at(o)))
	switch {
	case o.rand.IntN(8) == 0:
		u.Refused(u.at(o), Refusal{})
	case errors.Is(err, sequencer.ErrDetached):
		u.Refused(u.at(o), Refusal{Code: "detached"})
	case err != nil:
		u.Refused(u.at(o), Refusal{Code: "unavailable"})
	default:
		u.Replied(u.at(o), reply)
	}
}

// TestOneTable: more generators than logical nodes share the real table, through lost replies, sessions that end,
// owners that begin with and without a loss, releases and forks. No two IDs are equal, and each generator's ascend.
func TestOneTable(t *testing.T) {
	for seed := range *seeds {
		rand := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // repeatable
		o := newOwner(t, rand, began)
		users := make([]*user, 20)
		for i := range users {
			users[i] = &user{New(rand.Int64N), 0.9 + 0.2*rand.Float64(), rand.Int64N(1 << 40), 0}
		}
		ids := map[int64]int{}
		for range 3000 {
			i := rand.IntN(len(users))
			u := users[i]
			switch rand.IntN(40) {
			case 0:
				o.expire()
			case 1:
				o.begins(rand.IntN(3) == 0)
			case 2:
				if grant, last := u.Release(); grant != "" {
					o.release(grant, last)
				}
				users[i] = &user{New(rand.Int64N), u.rate, u.offset, 0}
			case 3:
				u.Forked()
			case 4:
				o.passes(rand.Int64N(2 * window))
			case 5, 6, 7, 8, 9:
				o.passes(rand.Int64N(6))
			case 10, 11, 12, 13, 14, 15, 16, 17, 18, 19:
				u.request(o)
			default:
				for range rand.IntN(12) {
					id, _, err := u.Next(u.at(o))
					if err != nil || id == 0 {
						break
					}
					if other, twice := ids[id]; twice || id <= u.last {
						t.Fatalf("seed %d: generator %d makes %d after %d, and generator %d made it (%v): %v", seed, i, id, u.last,
							other, twice, u)
					}
					ids[id], u.last = i, id
				}
			}
		}
		if len(ids) < 100 {
			t.Errorf("seed %d: %d IDs", seed, len(ids))
		}
	}
}
