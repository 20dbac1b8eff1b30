package sql_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/idtext"
	"github.com/snowgrid/snowgrid/internal/sqlfunctions"
	"github.com/snowgrid/snowgrid/sequencer"
)

// clickhouse runs statements in ClickHouse and returns the rows of its results, or skips the test.
func clickhouse(t *testing.T, statements string) [][]string {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "node", "-e", `require("chdb")`).CombinedOutput(); err != nil {
		t.Skipf("skipped: ClickHouse is not installed as a library of Node.js; npm install --prefix DIR chdb, and set "+
			"NODE_PATH=DIR/node_modules: %v, %.80s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join("testdata", "clickhouse.js"), t.TempDir())
	cmd.Stdin = strings.NewReader(statements)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%.2000s", err, out)
	}
	var rows [][]string
	for line := range strings.Lines(string(out)) {
		rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return rows
}

// clickhouseEnd is the end of the times that ClickHouse has.
var clickhouseEnd = time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)

// TestPrintedSQLOfClickHouse: as TestPrintedSQL, TestPrintedRanges and TestPrintedRangeUsesIndex.
func TestPrintedSQLOfClickHouse(t *testing.T) {
	for i, d := range printedLayouts(t) {
		if d.Config().Epoch.Time().After(clickhouseEnd) {
			continue
		}
		ids := someIDs(d, 1500, uint64(i))
		text, err := sqlfunctions.Text(sqlfunctions.ClickHouse, "p", d)
		if err != nil {
			t.Fatal(err)
		}
		var script strings.Builder
		script.WriteString(text + "CREATE TABLE p (n Int64, id Int64) ENGINE = MergeTree ORDER BY id;\nINSERT INTO p VALUES ")
		for n, id := range ids {
			fmt.Fprintf(&script, "(%d, %d)", n, id)
		}
		script.WriteString(";\nSELECT p_time(id), p_node(id), p_counter(id), p_base32(id), p_from_base32(p_base32(id)) " +
			"FROM p ORDER BY n;\n")
		times := someTimes(d, 100)
		for _, at := range times {
			text := "toDateTime64('" + at.Format("2006-01-02 15:04:05.000000") + "', 6, 'UTC')"
			fmt.Fprintf(&script, "SELECT p_min(%s), p_max(%s), p_between(toInt64(%d), %[1]s, %[1]s);\n", text, text,
				d.MaxID(at))
		}
		script.WriteString("SELECT p_min(NULL), p_max(NULL);\n")
		for _, text := range notBase32 {
			fmt.Fprintf(&script, "SELECT p_from_base32('%s');\n", text)
		}
		script.WriteString("EXPLAIN indexes = 1 SELECT n FROM p WHERE id BETWEEN p_min('2026-07-01 00:00:00') " +
			"AND p_max('2026-07-02 00:00:00');\n")
		rows := clickhouse(t, script.String())
		checkClickHouse(t, d, ids, times, rows)
	}
}

// checkClickHouse compares the rows with a definition.
func checkClickHouse(t *testing.T, d sequencer.Definition, ids []sequencer.ID, times []time.Time, rows [][]string) {
	t.Helper()
	if least := len(ids) + len(times) + 1 + len(notBase32); len(rows) <= least {
		t.Fatalf("%v: %d rows, want more than %d", d, len(rows), least)
	}
	for n, id := range ids {
		want := d.Decompose(id)
		at := want.Time.Format("2006-01-02 15:04:05.000")
		if !want.Time.Before(clickhouseEnd) {
			at = rows[n][0]
		}
		if got, want := strings.Join(rows[n], " "), fmt.Sprintf("%s %d %d %s %d", at, want.Node, want.Counter,
			idtext.Base32(id),
			id); got != want {
			t.Fatalf("%v: ID %v has the parts %s, want %s", d, id, got, want)
		}
	}
	rows = rows[len(ids):]
	for n, at := range times {
		want := fmt.Sprintf("%d %d 1", d.MinID(at), d.MaxID(at))
		if got := strings.Join(rows[n], " "); got != want && at.Before(clickhouseEnd) && at.Year() >= 1900 {
			t.Errorf("%v: at %v %s, want %s", d, at, got, want)
		}
	}
	rows = rows[len(times):]
	for _, row := range rows[:1+len(notBase32)] {
		if strings.Trim(strings.Join(row, ""), `\N`) != "" {
			t.Errorf("%v: a result is not NULL: %q", d, row)
		}
	}
	var plan []string
	for _, row := range rows[1+len(notBase32):] {
		plan = append(plan, row[0])
	}
	if text := strings.Join(plan, "\n"); !strings.Contains(text, "PrimaryKey") || !strings.Contains(text, fmt.Sprintf(
		"(id in [%d, +Inf))", d.MinID(time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)))) {
		t.Errorf("%v: the plan does not use the primary key:\n%s", d, text)
	}
}
