package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/definitions"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/member"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

const (
	// collectRetry is the delay before a failed collection is reported to its machine, which then retries.
	collectRetry = 200 * time.Millisecond
	// collectWeight bounds a page in bytes, by estimate.
	collectWeight = 256 << 10
	// collectMax bounds the names in one collection, far above a partition's size.
	collectMax = 1 << 24
	// collectCalls bounds one page, collectTurns the collections from one disk at a time.
	collectCalls = 5 * time.Second
	collectTurns = 2
	// collectAgain limits the restarts of a collection after changes on the disk.
	collectAgain = 10
)

// Collect implements partition.Member: it reads a disk, possibly this member's own, in a goroutine
// that ends with this member's tenure in its grid.
func (o *actor) Collect(c partition.Collection) {
	o.host.life.Background(func(ctx context.Context) {
		d, err := o.collect(ctx, c)
		if err != nil && ctx.Err() == nil {
			o.host.log.Debug("definitions not collected; retrying", "partition", o.id, "from", string(c.From), "error", err)
			if o.host.diskLog.noteAwaited(c.From, o.id, err, o.host.clock.Mono()) {
				o.host.life.Background(o.host.logDisks)
			}
			signal.Sleep(ctx, collectRetry)
		}
		_ = o.put(ctx, job{serve: func(v partition.View) { o.machine.Collected(v, c, d, err) }}) // else the tenure has ended
	})
}

// collects lets a few collections from each disk run at a time; the others wait, and
// not for disks that do not answer. Its zero value is ready.
type collects struct {
	mu    sync.Mutex
	turns map[roster.MemberID]chan struct{}
}

// of returns the turns for a disk.
func (c *collects) of(from roster.MemberID) chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turns == nil {
		c.turns = map[roster.MemberID]chan struct{}{}
	}
	t := c.turns[from]
	if t == nil {
		t = make(chan struct{}, collectTurns)
		c.turns[from] = t
	}
	return t
}

func (o *actor) collect(ctx context.Context, c partition.Collection) (partition.Definitions, error) {
	var out partition.Definitions
	turn := o.host.collects.of(c.From)
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return out, ctx.Err()
	}
	req := member.CollectRequest{Partition: o.id, Term: c.Term, Lost: c.Lost}
	for again := 0; again < collectAgain; {
		res, err := o.host.collectPage(ctx, c.From, req)
		if err != nil {
			return out, err
		}
		page, err := res.Definitions.State()
		if err != nil {
			return out, fmt.Errorf("definitions on the disk of %s: %w", c.From, err)
		}
		if req.Revision != res.Revision && req.Revision != 0 {
			again++
			out.Records, req.After = nil, ""
		}
		if n := len(page.Records); n > 0 {
			if first := page.Records[0].Ref.Definition.Name(); first <= req.After || len(out.Records)+n > collectMax {
				return out, fmt.Errorf("definitions on the disk of %s: name %.80q is out of order, or one of too many", c.From,
					first)
			}
			req.After = page.Records[n-1].Ref.Definition.Name()
		} else if res.More {
			return out, fmt.Errorf("definitions on the disk of %s: an empty page is not the last", c.From)
		}
		out.Base, out.Records = page.Base, append(out.Records, page.Records...)
		req.Revision = res.Revision
		if !res.More {
			return out, nil
		}
	}
	return out, fmt.Errorf("the disk of %s changes while it is read", c.From)
}

func (h *Host) collectPage(ctx context.Context, from roster.MemberID,
	req member.CollectRequest) (res member.CollectResponse, err error) {
	if from == h.self.Member() {
		return h.Collect(ctx, req)
	}
	for _, m := range h.state.Roster().Members {
		if m.Incarnation.Member() == from {
			err = h.caller.CallWithin(ctx, collectCalls, m.API, m.Incarnation, wire.PathCollect, req, &res)
			return res, err
		}
	}
	return res, errNotRunning
}

var errNotRunning = errors.New("it does not run, or is not in the grid yet")

// Collect returns a page of a partition's definitions stored by this member, after its own replica has
// agreed: from then on the replica acknowledges no update from a term before the loss.
func (h *Host) Collect(ctx context.Context, in member.CollectRequest) (member.CollectResponse, error) {
	var none member.CollectResponse
	if r := h.state.Roster(); int(in.Partition) >= len(r.Partitions) {
		return none, failure.Errorf(sequencer.ErrUnavailable, "grid: partition %d does not exist here; the roster has %d",
			in.Partition, len(r.Partitions))
	}
	o, err := h.actorOf(in.Partition)
	if err != nil {
		return none, err
	}
	kept, err := look(ctx, o, func(v partition.View) (definitions.Table, error) {
		err := o.machine.ShowDisk(v, partition.Collection{From: h.self.Member(), Term: in.Term, Lost: in.Lost})
		if err != nil || h.definitions != nil {
			return definitions.Table{}, err
		}
		d, at := o.machine.Kept()
		return definitions.Table{Position: at, Definitions: d}, nil
	})
	if err != nil {
		return none, failure.Errorf(sequencer.ErrUnavailable, "%w", err)
	}
	page, found := keptPage(kept, in), kept.Position.Term > 0
	if h.definitions != nil {
		page, found, err = h.definitions.Page(in.Partition, in.After, in.Revision, collectWeight)
	}
	if err != nil {
		if h.ctx.Err() == nil {
			h.raft.FailDisk("reading the definitions", err)
		}
		return none, failure.Errorf(sequencer.ErrUnavailable, "%w", err)
	}
	if !found {
		return none, failure.Errorf(sequencer.ErrUnavailable, "grid: nothing of partition %d was ever stored at this member",
			in.Partition)
	}
	return member.CollectResponse{Revision: page.Revision, Definitions: member.DefinitionsOf(page.Definitions),
		More: page.More}, nil
}

// keptPage returns the page of a request from definitions in memory, as definitions.Store
// does from disk.
func keptPage(t definitions.Table, in member.CollectRequest) definitions.Page {
	page := definitions.Page{Revision: uint64(t.Position.Term)<<40 ^ t.Position.Number}
	page.Base = t.Base
	records, weight := t.Records, collectWeight
	if in.Revision == page.Revision {
		first, _ := slices.BinarySearchFunc(records, in.After, func(r definitions.Record, after string) int {
			return cmp.Or(cmp.Compare(r.Ref.Definition.Name(), after), -1) // the first above it
		})
		records = records[first:]
	}
	n := 0
	for ; n < len(records); n++ {
		if weight -= len(records[n].Ref.Definition.Name()) + definitions.RecordWeight; weight < 0 && n > 0 {
			break
		}
	}
	page.Records, page.More = records[:n], n < len(records)
	return page
}

func (o *actor) DefinitionsCollected(id roster.PartitionID, from roster.MemberID, names int) {
	if o.host.diskLog.noteCollected(from, id, names) {
		o.host.life.Background(o.host.logDisks)
	}
}
