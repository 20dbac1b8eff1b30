package sql_test

import (
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/idtext"
	"github.com/snowgrid/snowgrid/internal/sqlfunctions"
	"github.com/snowgrid/snowgrid/internal/sqltest"
	"github.com/snowgrid/snowgrid/sequencer"
)

// printedDatabase runs the SQL of one dialect.
type printedDatabase struct {
	name    string
	dialect sqlfunctions.Dialect
	open    func(t *testing.T) *sql.DB
	// parts is a query for the time, node, counter and Base32 of each row in the table p, by n. The time is a text.
	parts string
}

var printedDatabases = []printedDatabase{
	{"PostgreSQL", sqlfunctions.PostgreSQL, func(t *testing.T) *sql.DB { return sqltest.StartPostgres(t).Open() },
		`SELECT to_char(p_time(id) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'), p_node(id), p_counter(id), p_base32(id)
		FROM p ORDER BY n`},
	{"MariaDB", sqlfunctions.MySQL, func(t *testing.T) *sql.DB {
		s := sqltest.StartMariaDB(t)
		s.DSN += "?multiStatements=true&time_zone=%27-07:00%27"
		return s.Open()
	}, `SELECT CAST(p_time(id) AS CHAR), p_node(id), p_counter(id), p_base32(id) FROM p ORDER BY n`},
	{"SQLite", sqlfunctions.SQLite, func(t *testing.T) *sql.DB { return sqltest.OpenSQLite(t, "") },
		`SELECT time, node, counter, base32 FROM p_parts JOIN p USING (id) ORDER BY n`},
}

// printedLayouts are the definitions of the tests.
func printedLayouts(t *testing.T) (all []sequencer.Definition) {
	t.Helper()
	for _, cfg := range []sequencer.Config{
		{Epoch: epoch.Default}, {Epoch: epoch.Default, Nodes: 128}, {Epoch: epoch.Twitter, Layout: sequencer.Twitter()},
		{Epoch: epoch.Default, Layout: sequencer.JSSafe()}, {Epoch: epoch.UnixMilli(1), Nodes: 4096},
		// Times until the year 4255 and 50 days long.
		{Epoch: epoch.Default, Layout: sequencer.Layout{Bits: 63, LowBits: 17, Nodes: 8192}},
		{Epoch: epoch.Default, Layout: sequencer.Layout{Bits: 37, LowBits: 5, Nodes: 16}},
		// From the year 9000 to 11229.
		{Epoch: epoch.UnixMilli(221_845_392_000_000), Layout: sequencer.Layout{Bits: 63, LowBits: 17, Nodes: 8192}},
	} {
		d, err := sequencer.Define("printed", cfg)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	return all
}

// someIDs returns numbers from 0 to the largest ID of a layout, those at the edges first.
func someIDs(d sequencer.Definition, count int, seed uint64) []sequencer.ID {
	most := int64(math.MaxInt64) >> (63 - d.Config().Layout.Bits)
	low := int64(1) << d.Config().Layout.LowBits
	ids := []sequencer.ID{0, 1, sequencer.ID(low - 1), sequencer.ID(low), sequencer.ID(most - low), sequencer.ID(most - 1),
		sequencer.ID(most)}
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test repeats them
	for len(ids) < count {
		ids = append(ids, sequencer.ID(random.Int64N(most)))
	}
	return ids
}

// TestPrintedSQL: for 10,000 IDs of eight layouts, each dialect has the time, node, counter and text of
// Definition.Decompose and idtext.Base32. The numbers that are no IDs have no parts.
func TestPrintedSQL(t *testing.T) {
	const count = 10_000
	for _, database := range printedDatabases {
		t.Run(database.name, func(t *testing.T) {
			t.Parallel()
			db := database.open(t)
			definitions := printedLayouts(t)
			for i, d := range definitions {
				ids := someIDs(d, count/len(definitions)+1, uint64(i))
				database.install(t, db, d, ids)
				database.checkParts(t, db, d, ids)
				if database.dialect != sqlfunctions.SQLite { // its queries by time and text are in other tests
					checkRead(t, db, ids)
				}
			}
		})
	}
}

// install creates the printed functions, with the prefix p, and a table p with IDs, a negative number, and the number
// after the largest ID if there is one.
func (p printedDatabase) install(t *testing.T, db *sql.DB, d sequencer.Definition, ids []sequencer.ID) {
	t.Helper()
	text, err := sqlfunctions.Text(p.dialect, "p", d)
	if err != nil {
		t.Fatal(err)
	}
	statements := "DROP TABLE IF EXISTS p; CREATE TABLE p (n BIGINT, id BIGINT, PRIMARY KEY (id));\n" + text
	if p.dialect == sqlfunctions.SQLite {
		statements = strings.Replace(statements, "DROP TABLE", "DROP VIEW IF EXISTS p_parts; DROP TABLE", 1)
		statements = strings.Replace(statements, "id BIGINT", "id INTEGER", 1)
	}
	if _, err := db.ExecContext(t.Context(), statements); err != nil {
		t.Fatalf("%v: %v\n%s", d, err, text)
	}
	var rows []string
	for n, id := range ids {
		rows = append(rows, fmt.Sprintf("(%d, %d)", n, id))
	}
	rows = append(rows, fmt.Sprintf("(%d, -1)", len(ids)))
	if bits := d.Config().Layout.Bits; bits < 63 {
		rows = append(rows, fmt.Sprintf("(%d, %d)", len(ids)+1, int64(1)<<bits))
	}
	if _, err := db.ExecContext(t.Context(), "INSERT INTO p (n, id) VALUES "+strings.Join(rows, ",")); err != nil {
		t.Fatal(err)
	}
}

// checkParts compares the parts in the database with Definition.Decompose.
func (p printedDatabase) checkParts(t *testing.T, db *sql.DB, d sequencer.Definition, ids []sequencer.ID) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), p.parts)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	n := 0
	for ; rows.Next(); n++ {
		var at, text sql.NullString
		var node, counter sql.NullInt64
		if err := rows.Scan(&at, &node, &counter, &text); err != nil {
			t.Fatal(err)
		}
		if n >= len(ids) {
			if at.Valid || node.Valid || counter.Valid || n == len(ids) && text.Valid {
				t.Errorf("%v: number %d after the IDs has the parts %v, %v, %v, %v", d, n-len(ids), at, node, counter, text)
			}
			continue
		}
		want := d.Decompose(ids[n])
		time := want.Time.Format("2006-01-02 15:04:05.000")
		switch {
		case p.dialect == sqlfunctions.PostgreSQL:
			time += "000"
		case want.Time.Year() > 9999:
			time = ""
		}
		if at.String != time || at.Valid != (time != "") || node.Int64 != int64(want.Node) ||
			counter.Int64 != int64(want.Counter) || !node.Valid || !counter.Valid || text.String != idtext.Base32(ids[n]) {
			t.Fatalf("%v: ID %v has the parts %v, %v, %v, %v, want %s, %d, %d, %s", d, ids[n], at, node, counter, text, time,
				want.Node, want.Counter, idtext.Base32(ids[n]))
		}
	}
	if err := rows.Err(); err != nil || n < len(ids)+1 {
		t.Fatalf("%d rows of %d IDs, %v", n, len(ids), err)
	}
}

// checkRead reads the texts in Base32 again, and texts that are none.
func checkRead(t *testing.T, db *sql.DB, ids []sequencer.ID) {
	t.Helper()
	var different int
	if err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM p WHERE id >= 0 AND n < `+fmt.Sprint(len(ids))+
		` AND (p_from_base32(p_base32(id)) IS NULL OR p_from_base32(p_base32(id)) <> id)`).Scan(&different); err != nil ||
		different > 0 {
		t.Errorf("%d of %d texts have another ID, %v", different, len(ids), err)
	}
	for _, text := range notBase32 {
		var id sql.NullInt64
		if err := db.QueryRowContext(t.Context(), "SELECT p_from_base32('"+text+"')").Scan(&id); err != nil || id.Valid {
			t.Errorf("the text %q has the ID %v, %v", text, id, err)
		}
	}
}

// notBase32 are texts that are no IDs: too long, too short, too large, with other letters.
var notBase32 = []string{"", "0", "00000000000000", "8000000000000", "000000000000u", "00000000000-0", "000000000000A",
	"0000000000000\n"}

// someTimes returns times around the range of a definition, those at its edges first.
func someTimes(d sequencer.Definition, count int) []time.Time {
	first, end := d.Config().Epoch.Time(), d.Exhausted()
	var all []time.Time
	for _, edge := range []time.Time{first, end} {
		for _, shift := range []time.Duration{-time.Hour, -time.Millisecond, -time.Microsecond, 0, time.Microsecond,
			999 * time.Microsecond, time.Millisecond, time.Hour} {
			all = append(all, edge.Add(shift))
		}
	}
	random := rand.New(rand.NewPCG(7, 1)) //nolint:gosec // a test repeats them
	for len(all) < count {
		all = append(all, time.UnixMicro(first.UnixMicro()+random.Int64N(end.UnixMicro()-first.UnixMicro())).UTC())
	}
	all = append(all, time.Date(1001, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC))
	return slices.DeleteFunc(all, func(at time.Time) bool { return at.Year() > 9999 }) // most databases end there
}

// TestPrintedRanges: for times in and around the range of a definition, the functions return the IDs of
// Definition.MinID and MaxID.
func TestPrintedRanges(t *testing.T) {
	for _, database := range printedDatabases[:2] { // SQLite: TestPrintedRangeOfSQLite
		t.Run(database.name, func(t *testing.T) {
			t.Parallel()
			db := database.open(t)
			for _, d := range printedLayouts(t) {
				database.install(t, db, d, nil)
				times := someTimes(d, 300)
				var all []string
				for i, at := range times {
					text := at.Format("2006-01-02 15:04:05.000000")
					if database.dialect == sqlfunctions.PostgreSQL {
						text += "+00"
					}
					all = append(all, fmt.Sprintf("SELECT %d AS n, p_min('%s') AS low, p_max('%s') AS high", i, text, text))
				}
				rows, err := db.QueryContext(t.Context(), strings.Join(all, " UNION ALL ")+" ORDER BY n")
				if err != nil {
					t.Fatal(err)
				}
				found := 0
				for ; rows.Next(); found++ {
					var n int
					var low, high sequencer.ID
					if err := rows.Scan(&n, &low, &high); err != nil || n != found || low != d.MinID(times[n]) ||
						high != d.MaxID(times[n]) {
						t.Errorf("%v: at %v %v to %v, want %v to %v; %v", d, times[n], low, high, d.MinID(times[n]),
							d.MaxID(times[n]), err)
					}
				}
				if err := rows.Err(); err != nil || found != len(times) {
					t.Fatalf("%v: %d ranges of %d times, %v", d, found, len(times), err)
				}
				if database.dialect == sqlfunctions.PostgreSQL {
					checkInfinity(t, db, d)
				}
				var low, high sql.NullInt64
				if err := db.QueryRowContext(t.Context(), "SELECT p_min(NULL), p_max(NULL)").Scan(&low, &high); err != nil ||
					low.Valid || high.Valid {
					t.Errorf("%v: NULL has the range %v to %v, %v", d, low, high, err)
				}
			}
		})
	}
}

// checkInfinity: the times without end count as the first and the last millisecond.
func checkInfinity(t *testing.T, db *sql.DB, d sequencer.Definition) {
	t.Helper()
	var low, high sequencer.ID
	err := db.QueryRowContext(t.Context(), "SELECT p_min('-infinity'), p_max('infinity')").Scan(&low, &high)
	if err != nil || low != 0 || high != d.MaxID(d.Exhausted()) {
		t.Errorf("%v: from -infinity to infinity %v to %v, %v", d, low, high, err)
	}
}

// commentedQuery matches the queries in the comments of the text for SQLite.
var commentedQuery = regexp.MustCompile(`(?m)^--   ((?:WITH|SELECT)[^;]*);`)

// TestPrintedRangeOfSQLite runs the queries in the comments: for a time range, which uses the primary key, and for a
// text.
func TestPrintedRangeOfSQLite(t *testing.T) {
	ctx, database := t.Context(), printedDatabases[2]
	db := database.open(t)
	for _, d := range printedLayouts(t) {
		text, err := sqlfunctions.Text(database.dialect, "p", d)
		if err != nil {
			t.Fatal(err)
		}
		queries := commentedQuery.FindAllStringSubmatch(text, -1)
		if len(queries) != 2 {
			t.Fatalf("%d queries in\n%s", len(queries), text)
		}
		byTime, byText := strings.ReplaceAll(queries[0][1], "\n--", "\n"), strings.ReplaceAll(queries[1][1], "\n--", "\n")
		times := someTimes(d, 40)
		var ids []sequencer.ID
		seen := map[sequencer.ID]bool{}
		for _, at := range times {
			for _, id := range []sequencer.ID{d.MinID(at), d.MaxID(at)} {
				if !seen[id] {
					ids = append(ids, id)
				}
				seen[id] = true
			}
		}
		database.install(t, db, d, ids)
		for i, first := range times {
			last := times[(i*7+3)%len(times)]
			first, last = first.Truncate(time.Millisecond), last.Truncate(time.Millisecond) // SQLite has no microseconds
			want := 0
			for _, id := range ids {
				if d.MinID(first) <= id && id <= d.MaxID(last) {
					want++
				}
			}
			const layout = "2006-01-02T15:04:05.000Z"
			got := count(ctx, t, db, byTime, sql.Named("first", first.Format(layout)), sql.Named("last", last.Format(layout)))
			if got != want {
				t.Errorf("%v: %d IDs from %v to %v, want %d", d, got, first, last, want)
			}
		}
		if got := count(ctx, t, db, byTime, sql.Named("first", nil), sql.Named("last", "2030-01-01")); got != 0 {
			t.Errorf("%v: %d IDs since NULL", d, got)
		}
		plan := explain(t, db, "EXPLAIN QUERY PLAN "+byTime, sql.Named("first", "2026-01-01"),
			sql.Named("last", "2027-01-01"))
		if !strings.Contains(plan, "SEARCH p USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)") {
			t.Errorf("the plan does not use the key:\n%s", plan)
		}
		for _, id := range ids {
			var got sequencer.ID
			digits := idtext.Base32(id)
			if err := db.QueryRowContext(ctx, byText, sql.Named("digits", digits)).Scan(&got); err != nil || got != id {
				t.Errorf("%s has the ID %v, want %v: %v", digits, got, id, err)
			}
		}
		for _, text := range notBase32 {
			var id sql.NullInt64
			if err := db.QueryRowContext(ctx, byText, sql.Named("digits", text)).Scan(&id); err != nil || id.Valid {
				t.Errorf("the text %q has the ID %v, %v", text, id, err)
			}
		}
	}
}
