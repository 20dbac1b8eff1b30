package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/spelling"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

const (
	// countsKeep is the validity of counts from other owners.
	countsKeep = time.Second
	// countsWait bounds the wait for them.
	countsWait = 500 * time.Millisecond
	// countsAgain is the time to the next fetch while the counts lack a partition.
	countsAgain = 100 * time.Millisecond
)

// names counts sequencers: exactly in this owner's tables, and up to a second old for other owners. Such sums
// may refuse a new sequencer. Before it is created the other owners are asked again, while it counts here as in
// progress: of two creates at two owners, one at least counts the other, and no limit is exceeded. A partition
// that changes its owner is not counted, and the sums are not used before it is.
type names struct {
	asking chan struct{} // has a token while a call fetches from the other owners

	mu      sync.Mutex               // guards the fields below; never held while waiting
	begun   map[spelling.Pattern]int // creates in progress that the tables do not have yet
	all     int                      // of any name
	members map[roster.Incarnation]memberCount
	asked   time.Duration // start of the last fetch from all
	known   bool          // asked is set
	partial bool          // the last sum lacked a partition

	tables sync.Map // roster.PartitionID -> *atomic.Pointer[partition.Census], of owned partitions
}

// memberCount is one owner's count: sequencers by row pattern, and the partitions that have them. A row is
// missing until all tables have counted it.
type memberCount struct {
	rows       map[spelling.Pattern]int
	begun      map[spelling.Pattern]int // of rows: creates in progress
	partitions []roster.PartitionID
}

// count publishes the census of an actor's table while it is the owner.
func (o *actor) count(v partition.View) {
	var now *partition.Census
	if o.machine.Acts() {
		now = o.machine.Table().Census(v.Roster.Quotas)
	}
	if o.census.Load() != now {
		o.census.Store(now)
	}
}

func (n *names) total() (names int) {
	n.tables.Range(func(_, value any) bool {
		if c := value.(*atomic.Pointer[partition.Census]).Load(); c != nil {
			names += c.Names
		}
		return true
	})
	n.mu.Lock()
	defer n.mu.Unlock()
	return names + n.all
}

// own returns the counts of this owner's tables for some rows.
func (n *names) own(quotas ...roster.Quota) memberCount {
	own := memberCount{rows: map[spelling.Pattern]int{}, begun: map[spelling.Pattern]int{}}
	n.mu.Lock() // before the tables, which have a create before it ends: it is counted twice rather than not at all
	for _, q := range quotas {
		own.begun[q.Pattern] = n.begun[q.Pattern]
		own.rows[q.Pattern] = own.begun[q.Pattern]
	}
	n.mu.Unlock()
	n.tables.Range(func(id, value any) bool {
		c := value.(*atomic.Pointer[partition.Census]).Load()
		if c == nil { // of no owned partition
			return true
		}
		own.partitions = append(own.partitions, id.(roster.PartitionID))
		for p, sum := range own.rows {
			if i := slices.IndexFunc(c.Quotas, func(q roster.Quota) bool { return q.Pattern == p }); i >= 0 {
				own.rows[p] = sum + c.Rows[i]
			} else {
				delete(own.rows, p)
			}
		}
		return true
	})
	return own
}

func (n *names) begin(p spelling.Pattern) (end func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.begun == nil {
		n.begun = map[spelling.Pattern]int{}
	}
	n.begun[p]++
	n.all++
	return sync.OnceFunc(func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.all--
		if n.begun[p]--; n.begun[p] == 0 {
			delete(n.begun, p)
		}
	})
}

// room reports whether quotas allow one more sequencer.
type room struct {
	full error   // why not, nil if they do
	kind Refusal // which quota has refused it, "" for none
	end  func()  // the create is no longer in progress
}

// errCount refuses a new sequencer inside the member, until the other owners are counted again.
var errCount = errors.New("host: the create waits for the counts of the other owners")

// room returns the room for a sequencer of a name. It counts as one until end. Where names are limited, the room is
// of the present only with now set; without, it is for a name that exists, and full with errCount for a new one.
func (l *limits) room(ctx context.Context, name string, now bool) room {
	refuse := func(kind Refusal, full error) room { return room{full, kind, func() {}} }
	r := l.state.Roster()
	if n := l.names.total(); n >= l.namesMax {
		return refuse(RefusedMemory, failure.Errorf(sequencer.ErrQuota, "sequencer %q: this member owns %d sequencers, as "+
			"many as its memory is meant for (%d); remove unused ones (snowgrid sequencers remove --unused-for), or add members",
			name, n, l.namesMax))
	}
	q := r.Quota(name)
	if q.Names == 0 {
		return room{end: l.names.begin("")}
	}
	end, since, self := func() {}, time.Duration(0), 0
	if now {
		end, since, self = l.names.begin(q.Pattern), l.clock.Mono(), 1
	}
	all := l.names.others(ctx, l.deps, r, since)
	if _, _, known := all.of(q.Pattern); !known {
		end()
		return refuse("", failure.Errorf(sequencer.ErrUnavailable,
			"sequencer %q: the quota of %q limits names, and another owner's count is still missing", name, string(q.Pattern)))
	}
	all = append(all, l.names.own(q))
	n, begun, counted := all.of(q.Pattern)
	n, begun = n-self, begun-self
	whole := l.names.cover(r, all)
	if counted && whole && n < q.Names {
		if !now {
			return refuse("", errCount)
		}
		return room{end: end}
	}
	end()
	switch {
	case counted && whole && n-begun < q.Names:
		return refuse("", failure.Errorf(sequencer.ErrUnavailable,
			"sequencer %q: there are %d sequencers of %q, its quota allows %d, and %d more are being created",
			name, n-begun, string(q.Pattern), q.Names, begun))
	case !counted:
		return refuse("", failure.Errorf(sequencer.ErrUnavailable,
			"sequencer %q: the quota of %q limits names, and they are being counted", name, string(q.Pattern)))
	case !whole && n < q.Names:
		return refuse("", failure.Errorf(sequencer.ErrUnavailable,
			"sequencer %q: the quota of %q limits names, and partitions that change their owner are not counted yet",
			name, string(q.Pattern)))
	}
	return refuse(RefusedNames, failure.Errorf(sequencer.ErrQuota, "sequencer %q: %s of %q, and its quota allows %d; "+
		"destroy one, remove unused ones (snowgrid sequencers remove --unused-for), or have an operator raise it: snowgrid "+
		"quota set %q --names COUNT",
		name, thereAre(n-begun), string(q.Pattern), q.Names, string(q.Pattern)))
}

type memberCounts []memberCount

// of returns a row's sum, how many of it are in progress, and false if an owner's count is missing.
func (c memberCounts) of(p spelling.Pattern) (sum, begun int, known bool) {
	for _, m := range c {
		n, said := m.rows[p]
		if !said {
			return 0, 0, false
		}
		sum, begun = sum+n, begun+m.begun[p]
	}
	return sum, begun, true
}

// cover reports whether the counts of all owners have every partition once. If not, the counts of the
// other owners are fetched again soon.
func (n *names) cover(r *roster.Roster, all memberCounts) bool {
	counted := make([]bool, len(r.Partitions))
	left := len(counted)
	whole := true
	for _, m := range all {
		for _, id := range m.partitions {
			if int(id) >= len(counted) || counted[id] {
				whole = false
				continue
			}
			counted[id] = true
			left--
		}
	}
	whole = whole && left == 0
	n.mu.Lock()
	defer n.mu.Unlock()
	n.partial = !whole
	return whole
}

// others returns the counts of the other members. It refreshes counts that are old, or were fetched before since. A
// member that did not reply is missing: it may have created sequencers since its last reply. All are missing once ctx
// has ended.
func (n *names) others(ctx context.Context, d *deps, r *roster.Roster, since time.Duration) memberCounts {
	if n.isOld(d.clock.Mono(), since) {
		select {
		case n.asking <- struct{}{}:
			if n.isOld(d.clock.Mono(), since) { // another call may have refreshed them
				n.ask(ctx, d, r)
			}
			<-n.asking
		case <-ctx.Done():
			return memberCounts{{}}
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	var out memberCounts
	for _, m := range r.Members {
		if m.Incarnation != d.self {
			out = append(out, n.members[m.Incarnation])
		}
	}
	return out
}

// isOld reports whether the counts need a refresh: they are too old, or were fetched before since.
func (n *names) isOld(now, since time.Duration) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.known || n.asked < since || now-n.asked >= countsKeep || n.partial && now-n.asked >= countsAgain
}

// ask fetches the counts of all other members.
func (n *names) ask(ctx context.Context, d *deps, r *roster.Roster) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), countsWait)
	defer cancel()
	began := d.clock.Mono()
	answers := make([]*memberCount, len(r.Members))
	var wg sync.WaitGroup
	for i, m := range r.Members {
		if m.Incarnation == d.self {
			continue
		}
		wg.Go(func() {
			var res wire.CountResponse
			if err := d.caller.Call(ctx, m.API, m.Incarnation, wire.PathCount, wire.CountRequest{}, &res); err == nil {
				m := memberCount{map[spelling.Pattern]int{}, map[spelling.Pattern]int{}, res.Partitions}
				for _, row := range res.Rows {
					m.rows[row.Pattern], m.begun[row.Pattern] = row.Names, row.Begun
				}
				answers[i] = &m
			}
		})
	}
	wg.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	members := map[roster.Incarnation]memberCount{}
	for i, m := range r.Members {
		if answers[i] != nil {
			members[m.Incarnation] = *answers[i]
		}
	}
	n.members, n.asked, n.known = members, began, true
}

// Count returns the number of sequencers that this member owns.
func (l *limits) Count(context.Context, wire.CountRequest) (wire.CountResponse, error) {
	r := l.state.Roster()
	own := l.names.own(r.Quotas...)
	out := wire.CountResponse{Version: r.Version, Names: l.names.total(), Partitions: own.partitions}
	for _, q := range r.Quotas {
		if n, known := own.rows[q.Pattern]; known {
			out.Rows = append(out.Rows, wire.RowCount{Pattern: q.Pattern, Names: n, Begun: own.begun[q.Pattern]})
		}
	}
	return out, nil
}

func thereAre(sequencers int) string {
	if sequencers == 1 {
		return "there is 1 sequencer"
	}
	return fmt.Sprintf("there are %d sequencers", sequencers)
}
