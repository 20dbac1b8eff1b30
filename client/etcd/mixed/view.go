package mixed

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/record"
)

// foreignHold is the duration for which a node appears as held by a worker. The worker's
// live key does not state its lease's duration.
const foreignHold = 10 * time.Second

// entry returns a node as the engine sees it. The node must have a record.
func (n node) entry(key string, now time.Time) store.Entry {
	return store.Entry{Key: key, Body: n.shown(now), Revision: n.revision().text()}
}

// shown returns the stored body, unless the keys beside the record add to it:
//
//	state  live               last_reported_time   shown
//	any    -                  at or above bound    with a bound above it (E6)
//	free   none               less than 3 s ago    held by a worker (E5)
//	free   exists             -                    held by a worker
//	held   none               -                    free, then as above: the lease has ended (E10)
//	held   of another lease   -                    held by a worker
//
// The next write of the record makes that permanent, if no key has changed until then.
func (n node) shown(now time.Time) []byte {
	if len(n.record.Value) == 0 { // not a record that another program released: the bound would be lost
		return []byte("damaged key: its value is empty")
	}
	r, err := record.Decode(n.record.Value, nil)
	if err != nil {
		return n.record.Value
	}
	tick := max(clustertime.Tick(now.UnixMilli()), 0)
	above, recent, reads := n.reportedAbove(r.Bound)
	changed := above > r.Bound
	r.Bound = max(r.Bound, above)
	foreign := n.foreign(r)
	if r.State == record.Held && n.live == nil {
		r, changed = released(r, n.record.ModRevision), true
	}
	switch {
	case r.State != record.Free && r.State != record.Held:
	case foreign:
		r = held(r, tick.Add(spanOf(foreignHold)), n.live.ModRevision, "worker of the snowflake service")
		r.Bound, changed = max(r.Bound, r.Timestamp), true
	case r.State != record.Free:
	case !reads:
		r, changed = held(r, tick.Add(spanOf(foreignHold)), n.reported.ModRevision, "unreadable last_reported_time"), true
	case recent > tick:
		r, changed = held(r, recent, n.reported.ModRevision, "worker of the snowflake service, until lately"), true
	}
	if !changed {
		return n.record.Value
	}
	return r.Encode()
}

// reportedAbove returns the times in last_reported_time that are beyond the record: the first time
// that its worker surely did not use, and the time from which others may claim the node. Both are 0
// if the record covers the report, because one of the record's holders then made it. reads is false
// if the value is not a time.
func (n node) reportedAbove(bound clustertime.Tick) (above, from clustertime.Tick, reads bool) {
	if n.reported == nil {
		return 0, 0, true
	}
	ms, err := strconv.ParseInt(string(n.reported.Value), 10, 64)
	last := clustertime.Tick(ms)
	if err != nil || last < 0 {
		return 0, 0, false
	}
	if last < bound {
		return 0, 0, true
	}
	last = min(last, clustertime.Latest)
	return limited(last.Add(spanOf(reportLag))), limited(last.Add(spanOf(reportPeriod))), true
}

// foreign reports whether another holder than the record's has the node's live key. The record's
// holder never writes the key after the record: a foreign key is newer, or the record has no
// holder.
func (n node) foreign(r record.Record) bool {
	return n.live != nil && (r.State != record.Held || n.live.ModRevision > n.record.ModRevision)
}

// held returns a record held, without an attachment, until a time.
func held(r record.Record, until clustertime.Tick, at int64, task string) record.Record {
	r = released(r, at)
	r.State, r.Task, r.Timestamp = record.Held, task, limited(until)
	// No holder draws it.
	binary.BigEndian.PutUint64(r.Attachment[len(r.Attachment)-8:], uint64(at)) //nolint:gosec // revisions are positive
	return r
}

// released returns a record without its holder. No written body has its nonce, so that no writer
// mistakes it for its own.
func released(r record.Record, at int64) record.Record {
	r.State, r.Graceful, r.Known = record.Free, false, nil
	r.Attachment, r.From, r.Until, r.Timestamp = attachment.ID{}, 0, 0, 0
	r.Nonce = fmt.Sprintf("etcd-%d", at)
	return r
}

// limited returns a time that a record can have.
func limited(t clustertime.Tick) clustertime.Tick { return min(t, clustertime.Latest) }

func spanOf(d time.Duration) clustertime.Span { return clustertime.SpanOf(d) }

// millis is a time as the original writes it.
func millis(t clustertime.Tick) string { return strconv.FormatInt(int64(t), 10) }
