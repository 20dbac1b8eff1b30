package sim

import (
	"fmt"
	"io"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/proof/ledger"
	"github.com/snowgrid/snowgrid/sequencer"
)

// StoreConfig configures a run with holders that share one store, and its faults.
type StoreConfig struct {
	Seed    uint64
	Holders int
	Pool    int // number of records
	Window  clustertime.Span
	Lossy   bool // the server may be replaced by one that lacks acknowledged writes
	// Late is D for a lossy store: the time for which a replaced server acknowledges writes.
	Late time.Duration
	// Skew is the largest difference between clocks for a lossy store. Without Lossy, clocks differ
	// by hours, step, and run at a wrong rate.
	Skew     time.Duration
	Lost     float64       // probability that a request is lost, and that a reply is
	Twice    float64       // probability that a request arrives again, seconds later
	Rude     float64       // probability that a take ignores the current holder
	Faults   time.Duration // mean interval
	Detach   float64       // probability at each check
	Destroy  float64
	Length   time.Duration
	Deletes  bool
	Operates bool
}

// StoreResult is the outcome of a run.
type StoreResult struct {
	Err                                                                  error
	Hash                                                                 uint64
	IDs, Grants                                                          int64
	Length                                                               time.Duration
	Faults, Takes, Lost, Returned, Destroyed, Deleted, Retired, Replaced int
}

// DrawStore derives a configuration from a seed.
func DrawStore(seed uint64, length time.Duration) StoreConfig {
	w := newWorld(seed ^ 0x57025)
	c := StoreConfig{
		Seed: seed, Pool: 2 + w.rng.IntN(4), Window: clustertime.Span(pick(w, []int{1000, 2000, 5000, 15000})),
		Lossy: w.chance(0.3), Lost: 0.1 * w.rng.Float64(), Twice: 0.2 * w.rng.Float64(),
		Rude:   pick(w, []float64{0, 0.05, 0.5}),
		Faults: w.between(time.Second, 10*time.Second), Detach: 0.02 * w.rng.Float64(), Length: length,
	}
	c.Holders = max(2, c.Pool+w.rng.IntN(4)-1)
	if c.Lossy {
		c.Late, c.Skew = w.between(0, 3*time.Second), w.between(0, time.Second)
	} else {
		// A destroy's tombstone and a repair's floor may be lost with a server (Q7).
		c.Destroy, c.Deletes, c.Operates = pick(w, []float64{0, 0.002}), w.chance(0.5), true
	}
	return c
}

// fleet consists of one sequencer's holders and their store.
type fleet struct {
	w       *world
	cfg     StoreConfig
	def     sequencer.Definition
	servers []*storeServer // the last one is current
	replica map[string]stored
	writes  uint64
	bounds  map[sequencer.NodeID]clustertime.Tick // the highest bound ever written
	holders []*storeHolder
	started int
	ledger  *ledger.Ledger
	rights  map[attachment.ID]lifeGrant
	buffer  []sequencer.ID
	result  StoreResult
}

// lifeGrant is the range that an attachment may have used, and its life.
type lifeGrant struct {
	life  attachment.Life
	grant attachment.Grant
}

// RunStore simulates holders over a store, and writes the trace to out unless it is nil.
func RunStore(cfg StoreConfig, out io.Writer) StoreResult {
	w := newWorld(cfg.Seed)
	w.trace.out = out
	def, err := sequencer.Define("orders", sequencer.Config{Nodes: 128})
	if err != nil {
		panic(err)
	}
	f := &fleet{
		w: w, cfg: cfg, def: def, ledger: ledger.New(), buffer: make([]sequencer.ID, 70_000),
		bounds: map[sequencer.NodeID]clustertime.Tick{}, replica: map[string]stored{},
		rights: map[attachment.ID]lifeGrant{},
	}
	f.initialise()
	for range cfg.Holders {
		f.newHolder()
	}
	w.after(cfg.Faults, f.fault)
	w.after(time.Second, f.operate)
	for w.now < cfg.Length && f.result.Err == nil {
		w.run(w.now + time.Second)
	}
	f.result.Hash, f.result.Length = w.trace.hash, w.now
	f.result.IDs, f.result.Grants = f.ledger.IDs(), f.ledger.Grants()
	return f.result
}

// check records the first error.
func (f *fleet) check(err error) {
	if err != nil && f.result.Err == nil {
		f.w.note(failed, "", 0, 0)
		f.result.Err = fmt.Errorf("after %v: %w", f.w.now, err)
	}
}

// nonce returns a random nonce for a body.
func (f *fleet) nonce() string { return fmt.Sprintf("%x", f.w.bits()) }

// life returns the random half of a life's identity.
func (f *fleet) life() (random [8]byte) {
	bits := f.w.bits()
	return [8]byte(bits[:8])
}

// initialise writes the document and the records for a new sequencer.
func (f *fleet) initialise() {
	s := &storeServer{generation: "1", entries: map[string]stored{}}
	f.servers = []*storeServer{s}
	d := record.NewDocument(f.def, f.life(), f.nonce())
	f.put(s, documentKey, d.Encode())
	for i := range f.cfg.Pool {
		f.put(s, recordKey(sequencer.NodeID(i)), record.Born(d.Life, f.nonce()).Encode())
	}
}

// granted records a grant in the ledger, and requires that it is above the grants of earlier lives:
// with another definition, equal ticks could result in equal IDs on any node.
func (f *fleet) granted(life attachment.Life, h ledger.Holding, g attachment.Grant) {
	f.check(f.ledger.Granted(h, g))
	if g.Empty() {
		return
	}
	f.rights[h.ID] = lifeGrant{life, g}
	for _, other := range f.rights {
		a, b := lifeGrant{life, g}, other
		if record.LifeNumber(b.life) < record.LifeNumber(a.life) {
			a, b = b, a
		}
		if a.life != b.life && b.grant.From < a.grant.Until {
			f.check(fmt.Errorf("H7: life %d was granted up to %d, and life %d from %d", record.LifeNumber(a.life), a.grant.Until,
				record.LifeNumber(b.life), b.grant.From))
		}
	}
}

// released records the last tick that an attachment may have used.
func (f *fleet) released(h ledger.Holding, lastUsed clustertime.Tick) {
	f.ledger.Released(h, lastUsed)
	r := f.rights[h.ID]
	if r.grant.Until = min(r.grant.Until, lastUsed+1); r.grant.Empty() {
		delete(f.rights, h.ID)
	} else {
		f.rights[h.ID] = r
	}
}
