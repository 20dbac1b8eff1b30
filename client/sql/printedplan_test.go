package sql_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"
)

// TestPrintedSQLInTables: PostgreSQL accepts the functions in an index and as the bounds of partitions.
func TestPrintedSQLInTables(t *testing.T) {
	database, d := printedDatabases[0], printedLayouts(t)[0]
	db := database.open(t)
	database.install(t, db, d, someIDs(d, 5000, 1))
	if _, err := db.ExecContext(t.Context(), `CREATE INDEX by_day ON p (date_trunc('day', p_time(id) AT TIME ZONE 'UTC'));
		CREATE TABLE parts (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
		CREATE TABLE parts_june PARTITION OF parts FOR VALUES FROM (p_min('2026-06-01Z')) TO (p_min('2026-07-01Z'));
		CREATE TABLE parts_july PARTITION OF parts FOR VALUES FROM (p_min('2026-07-01Z')) TO (p_min('2026-08-01Z'));
		ANALYZE p`); err != nil {
		t.Fatal(err)
	}
	july := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	var at string
	if err := db.QueryRowContext(t.Context(), "INSERT INTO parts (id) VALUES ($1) RETURNING tableoid::regclass::text",
		d.MinID(july)).Scan(&at); err != nil || at != "parts_july" {
		t.Errorf("the first ID of July is in %s, %v", at, err)
	}
	for query, want := range map[string][2]string{
		"SELECT * FROM p WHERE date_trunc('day', p_time(id) AT TIME ZONE 'UTC') = '2030-05-01'": {"by_day", "Seq Scan"},
		"SELECT * FROM parts WHERE p_between(id, '2026-06-03Z', '2026-06-04Z')":                 {"parts_june", "parts_july"},
	} {
		if plan := explain(t, db, "EXPLAIN "+query); !strings.Contains(plan, want[0]) || strings.Contains(plan, want[1]) {
			t.Errorf("%s: the plan lacks %s, or has %s:\n%s", query, want[0], want[1], plan)
		}
	}
}

// count returns the number of rows of a query.
func count(ctx context.Context, t *testing.T, db *sql.DB, query string, args ...any) (n int) {
	t.Helper()
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		n++
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}

// explain returns the last column of a plan's rows.
func explain(t *testing.T, db *sql.DB, query string, args ...any) string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(sql.NullString)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		var line []string
		for _, value := range values {
			line = append(line, value.(*sql.NullString).String)
		}
		lines = append(lines, strings.Join(line, " "))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// TestPrintedRangeUsesIndex: a query by time reads a part of the primary key's index.
func TestPrintedRangeUsesIndex(t *testing.T) {
	d := printedLayouts(t)[0]
	ids := someIDs(d, 5000, 1)
	for i, c := range []struct {
		analyse, explain string
		queries          []string
		wants            []string
	}{
		{
			"ANALYZE p", "EXPLAIN ",
			[]string{
				"SELECT n FROM p WHERE id BETWEEN p_min('2030-01-01Z') AND p_max('2030-01-02Z')",
				"SELECT n FROM p WHERE p_between(id, '2030-01-01Z', '2030-01-02Z')",
				"SELECT n FROM p WHERE p_between(id, now() - interval '1 hour', now())",
			},
			[]string{"Index Scan using p_pkey on p", "Index Cond: ((id >= "},
		},
		{
			"ANALYZE TABLE p", "EXPLAIN ",
			[]string{
				"SELECT n FROM p WHERE id BETWEEN p_min('2030-01-01') AND p_max('2030-01-02')",
				"SELECT n FROM p WHERE id >= p_min(UTC_TIMESTAMP(3) + INTERVAL 33 YEAR)",
			},
			[]string{" p range PRIMARY PRIMARY 8 "},
		},
	} {
		t.Run(printedDatabases[i].name, func(t *testing.T) {
			t.Parallel()
			db := printedDatabases[i].open(t)
			printedDatabases[i].install(t, db, d, ids)
			if _, err := db.ExecContext(t.Context(), c.analyse); err != nil {
				t.Fatal(err)
			}
			for _, query := range c.queries {
				plan := explain(t, db, c.explain+query)
				t.Logf("%s\n%s", query, plan)
				for _, want := range c.wants {
					if !strings.Contains(plan, want) {
						t.Errorf("%s: the plan lacks %q", query, want)
					}
				}
			}
		})
	}
}
