package mixed

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/record"
)

// noon is the time in these tests.
const noon clustertime.Tick = 1_795_334_400_000

// bodies are one record in each state, with a bound one second after noon.
func bodies(t testing.TB) map[record.State]record.Record {
	t.Helper()
	life := record.NewLife(1, [8]byte{1})
	b := record.Bounds{Now: noon, Window: 1000, Life: life}
	held, err := record.Born(life, "n1").Take(attachment.ID{1}, "task", "n2", b)
	if err != nil {
		t.Fatal(err)
	}
	retired, _, err := held.Retire(life, "n3")
	if err != nil {
		t.Fatal(err)
	}
	free, _, err := retired.Restore(life, "n4")
	if err != nil {
		t.Fatal(err)
	}
	closed, _, err := held.Close(life, "n5")
	if err != nil {
		t.Fatal(err)
	}
	return map[record.State]record.Record{record.Free: free, record.Held: held, record.Retired: retired,
		record.Closed: closed}
}

// TestShown: the record that the engine sees, by the keys next to it.
func TestShown(t *testing.T) {
	const bound = noon + 1000
	all := bodies(t)
	own := &mvccpb.KeyValue{ModRevision: 5, Lease: 1}
	other := &mvccpb.KeyValue{ModRevision: 11, Lease: 2}
	for _, c := range []struct {
		name     string
		stored   record.State
		live     *mvccpb.KeyValue
		reported string
		want     record.State
		stored2  bool // shown as it is stored
		bound    clustertime.Tick
		until    clustertime.Tick
	}{
		{name: "free", stored: record.Free, want: record.Free, stored2: true, bound: bound},
		{name: "held", stored: record.Held, live: own, want: record.Held, stored2: true, bound: bound, until: bound},
		{name: "reported by its own holder", stored: record.Held, live: own, reported: tickText(bound - 1), want: record.Held,
			stored2: true, bound: bound, until: bound},
		{name: "lease has ended", stored: record.Held, want: record.Free, bound: bound},
		{name: "live key of another, over a held record", stored: record.Held, live: other, want: record.Held,
			bound: noon + 10_000, until: noon + 10_000},
		{name: "live key of another, over a free record", stored: record.Free, live: own, want: record.Held,
			bound: noon + 10_000, until: noon + 10_000},
		{name: "reported long ago", stored: record.Free, reported: tickText(noon - 3_600_000), want: record.Free,
			stored2: true, bound: bound},
		{name: "reported at the bound", stored: record.Free, reported: tickText(bound), want: record.Held,
			bound: bound + 4000, until: bound + 3000},
		{name: "reported within the bound", stored: record.Free, reported: tickText(bound - 1), want: record.Free,
			stored2: true, bound: bound},
		{name: "reported by another after the lease ended", stored: record.Held, reported: tickText(bound), want: record.Held,
			bound: bound + 4000, until: bound + 3000},
		{name: "reported in the far future", stored: record.Free, reported: "9223372036854775807", want: record.Held,
			bound: clustertime.Latest, until: clustertime.Latest},
		{name: "an unreadable report", stored: record.Free, reported: "soon", want: record.Held, bound: bound,
			until: noon + 10_000},
		{name: "a negative report", stored: record.Free, reported: "-1", want: record.Held, bound: bound,
			until: noon + 10_000},
		{name: "an unreadable report beside a holder", stored: record.Held, live: own, reported: "soon", want: record.Held,
			stored2: true, bound: bound, until: bound},
		{name: "retired", stored: record.Retired, live: other, want: record.Retired, stored2: true, bound: bound},
		{name: "retired, and reported by another", stored: record.Retired, reported: tickText(bound + 7),
			want: record.Retired, bound: bound + 4007},
		{name: "closed", stored: record.Closed, live: other, want: record.Closed, stored2: true, bound: bound},
	} {
		t.Run(c.name, func(t *testing.T) {
			stored := all[c.stored]
			n := node{record: &mvccpb.KeyValue{Value: stored.Encode(), ModRevision: 10}, live: c.live}
			if c.reported != "" {
				n.reported = &mvccpb.KeyValue{Value: []byte(c.reported), ModRevision: 9}
			}
			r, err := record.Decode(n.shown(noon.Time()), nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.State != c.want || r.Bound != c.bound || r.Timestamp != c.until || r.Version != stored.Version {
				t.Errorf("shown as %v with bound %d until %d, version %d; want %v, %d, %d, %d",
					r.State, r.Bound-noon, r.Timestamp-noon, r.Version, c.want, c.bound-noon, c.until-noon, stored.Version)
			}
			if same := r.Nonce == stored.Nonce && r.Attachment == stored.Attachment; same != c.stored2 &&
				c.want != record.Retired {
				t.Errorf("shown as it is stored: %v, want %v", same, c.stored2)
			}
			if r.State == record.Free && !c.stored2 && r.Graceful {
				t.Error("a holder whose lease ended did not return the record")
			}
		})
	}
}

// TestEmptyValueIsDamage: a key that was emptied shows no record, whatever the keys next to it are: its bound is lost.
func TestEmptyValueIsDamage(t *testing.T) {
	at := &mvccpb.KeyValue{Value: []byte(tickText(noon)), ModRevision: 11}
	for name, n := range map[string]node{"alone": {}, "live": {live: at}, "reported": {reported: at}} {
		n.record = &mvccpb.KeyValue{ModRevision: 10}
		if _, err := record.Decode(n.shown(noon.Time()), nil); !errors.Is(err, record.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRevisionNamesTheHolder: only the record's holder may renew, and only with its live key.
func TestRevisionNamesTheHolder(t *testing.T) {
	own, other := &mvccpb.KeyValue{ModRevision: 5, Lease: 1}, &mvccpb.KeyValue{ModRevision: 11, Lease: 2}
	for state, stored := range bodies(t) {
		for _, live := range []*mvccpb.KeyValue{nil, own, other} {
			n := node{record: &mvccpb.KeyValue{Value: stored.Encode(), ModRevision: 10}, live: live}
			r := n.revision()
			var want attachment.ID
			if state == record.Held && live == own {
				want = stored.Attachment
			}
			if r.holder != want {
				t.Errorf("%v with the live key %v: the holder is %x", state, live, r.holder)
			}
			if back, ok := parseRevision(r.text()); !ok || back != r {
				t.Errorf("%s is %+v, %v", r.text(), back, ok)
			}
		}
	}
	for _, text := range []store.Revision{"1", "1.2.3", "0.0.0.00000000000000000000000000000000", "1.2.3.00", "01.2.3.00",
		"1.2.3.00000000000000000000000000000000.", "1.2.3.zz000000000000000000000000000000",
		"1.2.3.0000000000000000000000000000000000"} {
		if r, ok := parseRevision(text); ok {
			t.Errorf("%q is %+v", text, r)
		}
	}
}

// FuzzShown: whatever the keys contain, a record is shown, never with a lower bound,
// and never with a holder that could extend it unless its live key exists.
func FuzzShown(f *testing.F) {
	f.Add(uint8(0), "", int64(0), int64(0), int64(10))
	f.Add(uint8(1), "1795334401000", int64(3), int64(4), int64(10))
	f.Add(uint8(1), "-9", int64(12), int64(4), int64(10))
	f.Add(uint8(0), "", int64(0), int64(0), int64(-80))
	all := bodies(f)
	f.Fuzz(func(t *testing.T, state uint8, reported string, live, reportedAt, now int64) {
		stored := all[record.State(state%4)]
		n := node{record: &mvccpb.KeyValue{Value: stored.Encode(), ModRevision: 10}}
		if live > 0 {
			n.live = &mvccpb.KeyValue{ModRevision: live}
		}
		if reportedAt > 0 {
			n.reported = &mvccpb.KeyValue{Value: []byte(reported), ModRevision: reportedAt}
		}
		r, err := record.Decode(n.shown(time.UnixMilli(now%(1<<50))), nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Bound < stored.Bound {
			t.Errorf("the bound fell from %d to %d", stored.Bound, r.Bound)
		}
		if r.HeldBy(stored.Attachment) && (n.live == nil || live > 10) {
			t.Errorf("shown as held by an attachment without a live key: %+v", r)
		}
		if used, err := strconv.ParseInt(reported, 10, 64); err == nil && reportedAt > 0 && used >= 0 &&
			int64(r.Bound) <= used && r.Bound < clustertime.Latest {
			t.Errorf("bound %d does not cover the report %s", r.Bound, reported)
		}
	})
}

func tickText(t clustertime.Tick) string { return strconv.FormatInt(int64(t), 10) }
