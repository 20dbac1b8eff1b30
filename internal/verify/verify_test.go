package verify

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/foreign"
	"github.com/snowgrid/snowgrid/sequencer"
)

// small is a format with few nodes and counters: 1 ms, 4 node bits, 2 counter bits.
func small(t testing.TB) foreign.Format {
	t.Helper()
	f, err := foreign.Find("twitter")
	if err == nil {
		f, err = f.WithBits(4, 2)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// id composes an ID in the small format.
func id(ms, node, counter int) sequencer.ID { return sequencer.ID(ms<<6 | node<<2 | counter) }

func check(t testing.TB, cfg Config, text string) *Report {
	t.Helper()
	if cfg.Show == 0 {
		cfg.Show = 100
	}
	r, err := Check(context.Background(), cfg, strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// lines joins rows.
func lines(rows ...any) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintln(&b, r)
	}
	return b.String()
}

func TestFindings(t *testing.T) {
	f := small(t)
	at := func(ms int) time.Time { return f.Time(uint64(ms)) }
	for name, tc := range map[string]struct {
		cfg  Config
		rows string
		want []Finding
	}{
		"nothing":                {rows: lines(id(5, 1, 0), id(5, 1, 1), id(6, 2, 0), id(7, 1, 0))},
		"no rows":                {},
		"a header":               {rows: lines("user_id", id(5, 1, 0))},
		"quotes and blank lines": {rows: "\"64\"\r\n\n'128'\n 192 "},
		"a duplicate": {rows: lines(id(5, 1, 0), id(6, 1, 0), id(5, 2, 0), id(6, 1, 0)),
			want: []Finding{{Kind: Duplicate, Line: 4, ID: id(6, 1, 0), With: 2}}},
		"three equal IDs": {rows: lines(id(6, 1, 0), id(6, 1, 0), id(6, 1, 0)), want: []Finding{
			{Kind: Duplicate, Line: 2, ID: id(6, 1, 0), With: 1}, {Kind: Duplicate, Line: 3, ID: id(6, 1, 0), With: 1}}},
		"no ID": {rows: lines(id(5, 1, 0), "018f6a2e-7b1c-7000", "1.1167664908554732e+18", "9223372036854775808"),
			want: []Finding{{Kind: NotAnID, Line: 2, Text: `"018f6a2e-7b1c-7000"`},
				{Kind: NotAnID, Line: 3, Text: `"1.1167664908554732e+18"`},
				{Kind: NotAnID, Line: 4, Text: `"9223372036854775808"`}}},
		"before the epoch": {rows: lines(id(5, 1, 0), int64(-4611686018427387904)),
			want: []Finding{{Kind: Early, Line: 2, Text: `"-4611686018427387904"`}}},
		"before and after the limits": {cfg: Config{Since: at(5), Until: at(7)},
			rows: lines(id(4, 1, 0), id(5, 1, 0), id(7, 1, 3), id(8, 1, 0)),
			want: []Finding{{Kind: Early, Line: 1, ID: id(4, 1, 0)}, {Kind: Future, Line: 4, ID: id(8, 1, 0)}}},
		"the row after a future one": {cfg: Config{Until: at(7)}, rows: lines(id(5, 1, 0), id(8, 1, 0), id(6, 1, 0)),
			want: []Finding{{Kind: Future, Line: 2, ID: id(8, 1, 0)}}},
		"a foreign node": {cfg: Config{Nodes: &NodeRange{Lo: 2, Hi: 3}},
			rows: lines(id(5, 1, 0), id(5, 2, 0), id(5, 3, 0), id(5, 4, 0)),
			want: []Finding{{Kind: Foreign, Line: 1, ID: id(5, 1, 0)}, {Kind: Foreign, Line: 4, ID: id(5, 4, 0)}}},
		"a full millisecond": {rows: lines(id(5, 1, 0), id(5, 1, 1), id(5, 1, 2), id(5, 1, 3))},
		"a duplicate in a full millisecond": {rows: lines(id(5, 1, 0), id(5, 1, 1), id(5, 1, 2), id(5, 1, 2)),
			want: []Finding{{Kind: Duplicate, Line: 4, ID: id(5, 1, 2), With: 3}}},
		"an overfull millisecond": {rows: lines(id(5, 1, 0), id(5, 1, 1), id(5, 1, 2), id(5, 1, 3), id(5, 1, 3), id(6, 1, 0)),
			want: []Finding{{Kind: Duplicate, Line: 5, ID: id(5, 1, 3), With: 4},
				{Kind: Overfull, Line: 5, ID: id(5, 1, 3), Count: 5}}},
		"a step back": {rows: lines(id(9, 1, 0), id(5, 2, 0), id(7, 1, 0), id(8, 1, 0)),
			want: []Finding{{Kind: Backwards, Line: 3, ID: id(7, 1, 0), With: 1, Back: 2 * time.Millisecond}}},
		"a step back in rows without order": {cfg: Config{Order: Unordered}, rows: lines(id(9, 1, 0), id(7, 1, 0))},
		"a node of two hosts": {cfg: Config{Columns: Columns{ID: "id", Host: "pod"}},
			rows: lines("pod,id", "a,"+id(5, 1, 0).String(), "b,"+id(5, 2, 0).String(), "b,"+id(9, 1, 0).String(),
				"c,"+id(10, 1, 0).String()),
			want: []Finding{{Kind: SharedNode, Line: 4, ID: id(9, 1, 0), With: 2, Hosts: []string{"a", "b", "c"}}}},
		"a node that was reassigned": {cfg: Config{Columns: Columns{ID: "2", Host: "1"}, Reassigned: true},
			rows: lines("a,"+id(5, 1, 0).String(), "b,"+id(9, 1, 0).String(), "a,"+id(10_006, 1, 0).String())},
		"hosts that take turns": {cfg: Config{Columns: Columns{ID: "2", Host: "1"}, Reassigned: true},
			rows: lines("a,"+id(5, 1, 0).String(), "b,"+id(9, 1, 0).String(), "a,"+id(10_005, 1, 0).String()),
			want: []Finding{{Kind: SharedNode, Line: 3, ID: id(10_005, 1, 0), With: 2, Hosts: []string{"a", "b"}}}},
		"two hosts in one millisecond": {cfg: Config{Columns: Columns{ID: "2", Host: "1"}, Reassigned: true},
			rows: lines("a,"+id(5, 1, 0).String(), "b,"+id(5, 1, 1).String()),
			want: []Finding{{Kind: SharedNode, Line: 2, ID: id(5, 1, 1), With: 1, Hosts: []string{"a", "b"}}}},
		"columns of a quoted row": {cfg: Config{Columns: Columns{ID: "3", Comma: ';'}},
			rows: "x;\"two\nlines; one row\";64\ny;z\nx;y;64\n",
			want: []Finding{{Kind: Duplicate, Line: 4, ID: 64, With: 1}, {Kind: NotAnID, Line: 3, Text: `""`}}},
		"a long line": {rows: strings.Repeat("9", 3<<20) + "\n64\n64",
			want: []Finding{{Kind: Duplicate, Line: 3, ID: 64, With: 2},
				{Kind: NotAnID, Line: 1, Text: `"` + strings.Repeat("9", 40) + `"...`}}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.cfg.Format = f
			for _, tc.cfg.chunk = range []int{0, 1, 2} {
				r := check(t, tc.cfg, tc.rows)
				if !reflect.DeepEqual(r.Findings, append([]Finding{}, tc.want...)) || r.Clean() != (len(tc.want) == 0) {
					t.Errorf("in runs of %d: %+v, not %+v", tc.cfg.chunk, r.Findings, tc.want)
				}
			}
		})
	}
}

// TestMoreBitsThanTheFormat: bits above the format's show that an ID has another layout.
func TestMoreBitsThanTheFormat(t *testing.T) {
	d, err := sequencer.Define("orders", sequencer.Config{Layout: sequencer.JSSafe()})
	if err != nil {
		t.Fatal(err)
	}
	r := check(t, Config{Format: foreign.Of(d)}, lines(int64(1<<53-1), int64(1<<53)))
	if want := []Finding{{Kind: Foreign, Line: 2, ID: 1 << 53}}; !reflect.DeepEqual(r.Findings, want) {
		t.Errorf("%+v, not %+v", r.Findings, want)
	}
}

// TestEveryFaultIsFound: random faults in the rows are found with their lines, however many runs there are, and
// nothing else is.
func TestEveryFaultIsFound(t *testing.T) {
	formats := []foreign.Format{small(t)}
	for _, name := range []string{"sonyflake", "twitter"} {
		f, err := foreign.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		formats = append(formats, f)
	}
	rapid.Check(t, func(rt *rapid.T) {
		f := rapid.SampledFrom(formats).Draw(rt, "format")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		n := rapid.IntRange(200, 1000).Draw(rt, "rows")
		var rows []string
		ticks := uint64(1000)
		for len(rows) < n {
			ticks += random.Uint64N(3) + 1
			for node := range uint32(3) {
				parts := foreign.Parts{Time: f.Time(ticks), Node: node, Counter: random.Uint32N(4)}
				rows = append(rows, f.Compose(parts).String())
			}
		}
		want := map[Kind][]uint64{}
		until := f.Time(ticks + 5)
		used := map[int]bool{}
		for range rapid.IntRange(0, 8).Draw(rt, "faults") {
			at := random.IntN(n-100) + 100
			if used[at] || used[at-99] {
				continue
			}
			used[at], used[at-99] = true, true // a duplicate's other row stays as it is
			line := uint64(at + 1)
			switch random.IntN(3) {
			case 0:
				rows[at] = "none"
				want[NotAnID] = append(want[NotAnID], line)
			case 1:
				rows[at] = f.Compose(foreign.Parts{Time: f.Time(ticks + 100 + line), Node: 7}).String()
				want[Future] = append(want[Future], line)
			case 2:
				rows[at] = rows[at-99]
				want[Duplicate] = append(want[Duplicate], line)
			}
		}
		cfg := Config{Format: f, Until: until, Show: 100, Order: Unordered,
			chunk: rapid.SampledFrom([]int{1, 7, 100, 10_000}).Draw(rt, "chunk")}
		r, err := Check(context.Background(), cfg, strings.NewReader(strings.Join(rows, "\n")), nil)
		if err != nil {
			rt.Fatal(err)
		}
		got := map[Kind][]uint64{}
		for _, found := range r.Findings {
			got[found.Kind] = append(got[found.Kind], found.Line)
		}
		for k := range want {
			slices.Sort(want[k])
			slices.Sort(got[k])
		}
		if !maps.EqualFunc(got, want, slices.Equal[[]uint64]) {
			rt.Errorf("found %v, not %v", got, want)
		}
	})
}

// TestOrderIsRecognised: rows that are not in the order in which they were made have no steps back.
func TestOrderIsRecognised(t *testing.T) {
	f := small(t)
	var rows []any
	for ms := range 1000 {
		rows = append(rows, id(ms, 1, 0))
	}
	rows[500], rows[501] = rows[501], rows[500]
	if r := check(t, Config{Format: f}, lines(rows...)); !r.Ordered || r.Problems[Backwards] != 1 {
		t.Errorf("rows with a step back: %+v", r)
	}
	rand.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	if r := check(t, Config{Format: f}, lines(rows...)); r.Ordered || !r.Clean() || len(r.Findings) > 0 {
		t.Errorf("rows in any order: %+v", r)
	}
	if r := check(t, Config{Format: f, Order: Made, Show: 3}, lines(rows...)); !r.Ordered || r.Problems[Backwards] < 100 ||
		len(r.Findings) != 3 {
		t.Errorf("rows in any order, as if made in it: %+v", r)
	}
}

func TestReport(t *testing.T) {
	f := small(t)
	rows := lines("id", id(7, 1, 0), "", id(5, 2, 0), id(9, 1, 0), id(900, 3, 0))
	r := check(t, Config{Format: f, Until: f.Time(100)}, rows)
	if r.Rows != 4 || r.IDs != 4 || r.Header != "id" || r.Blank != 1 || r.Nodes != 3 ||
		r.First != (Bound{id(5, 2, 0), 4, f.Time(5)}) || r.Last != (Bound{id(9, 1, 0), 5, f.Time(9)}) {
		t.Errorf("%+v", r)
	}
	var picture bytes.Buffer
	if err := r.SVG(&picture, "a <b>"); err != nil || !strings.Contains(picture.String(), "a &lt;b&gt;") ||
		!strings.Contains(picture.String(), "node 3") || strings.Count(picture.String(), "<rect") < 4 {
		t.Errorf("the picture is %s, %v", picture.String(), err)
	}
	if err := check(t, Config{Format: f}, "").SVG(&picture, "empty"); err != nil {
		t.Error(err)
	}
}

// TestRareNodes: a single row with another node is no problem, and is named.
func TestRareNodes(t *testing.T) {
	var rows []any
	for ms := range 5000 {
		rows = append(rows, id(ms, ms%3, 0))
	}
	rows[700] = id(700, 9, 0)
	r := check(t, Config{Format: small(t)}, lines(rows...))
	if want := []RareNode{{Node: 9, Rows: 1, Line: 701}}; !reflect.DeepEqual(r.Rare, want) || !r.Clean() {
		t.Errorf("%+v, not %+v", r.Rare, want)
	}
	rows[800] = id(800, 9, 0)
	if r := check(t, Config{Format: small(t)}, lines(rows...)); len(r.Rare) != 0 {
		t.Errorf("two rows of 5000 are rare: %+v", r.Rare)
	}
}

func TestBadInput(t *testing.T) {
	f := small(t)
	run := func(cfg Config, in io.Reader) error {
		cfg.Format, cfg.Show = f, 10
		_, err := Check(context.Background(), cfg, in, nil)
		return err
	}
	for want, err := range map[string]error{
		`no column "key" in the header`: run(Config{Columns: Columns{ID: "key"}}, strings.NewReader("id,x\n1,2\n")),
		"not a directory":               run(Config{TempDir: "/dev/null"}, strings.NewReader("1")),
		"read: too bad":                 run(Config{}, failing{"1\n"}),
		"more than 100000 hosts": run(Config{Columns: Columns{ID: "1", Host: "2"}}, func() io.Reader {
			var b strings.Builder
			for i := range hostsMax + 1 {
				fmt.Fprintf(&b, "%d,h%d\n", i, i)
			}
			return strings.NewReader(b.String())
		}()),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// failing returns its text, and then an error.
type failing struct{ text string }

func (f failing) Read(into []byte) (int, error) {
	return copy(into, f.text), errors.New("read: too bad")
}

// TestCheckEndsWithItsContext: even while a read blocks.
func TestCheckEndsWithItsContext(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("stopped")
	go func() {
		_, _ = io.WriteString(out, "1\n")
		cancel(stop)
	}()
	if _, err := Check(ctx, Config{Format: small(t)}, in, nil); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}

func TestSortRows(t *testing.T) {
	if got, _ := sortRows([]row{{1 << 62, 0}, {1 << 56, 1}, {1 << 12, 2}, {1, 3}}, nil); !slices.IsSortedFunc(got,
		func(a, b row) int { return cmp.Compare(a.id, b.id) }) {
		t.Errorf("%v", got)
	}
	rapid.Check(t, func(rt *rapid.T) {
		rows := rapid.SliceOf(rapid.Custom(func(rt *rapid.T) row {
			return row{id: rapid.Uint64().Draw(rt, "id") >> rapid.IntRange(0, 60).Draw(rt, "bits")}
		})).Draw(rt, "rows")
		for i := range rows {
			rows[i].at = uint64(i)
		}
		want := slices.Clone(rows)
		slices.SortStableFunc(want, func(a, b row) int { return cmp.Compare(a.id, b.id) })
		if got, _ := sortRows(rows, nil); !slices.Equal(got, want) {
			rt.Errorf("%v, not %v", got, want)
		}
	})
}

// FuzzCheck: no input makes the check panic or count other rows than it has.
func FuzzCheck(f *testing.F) {
	f.Add("1\n2\n2\n", true)
	f.Add("id,host\n\"1\",a\n", false)
	format := small(f)
	f.Fuzz(func(t *testing.T, text string, plain bool) {
		cfg := Config{Format: format, Show: 3, Until: epoch.Default.Time(), chunk: 2}
		if !plain {
			cfg.Columns = Columns{ID: "1", Host: "2"}
		}
		r, err := Check(context.Background(), cfg, strings.NewReader(text), nil)
		if err != nil {
			return
		}
		if unread := r.Problems[NotAnID] + r.Problems[Early]; r.IDs > r.Rows || r.Rows > r.IDs+unread+r.Problems[Foreign] {
			t.Errorf("%d rows, %d IDs, %v", r.Rows, r.IDs, r.Problems)
		}
		if err := r.SVG(io.Discard, text); err != nil {
			t.Error(err)
		}
	})
}
