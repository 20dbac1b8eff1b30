package sql_test

import (
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/snowgrid/snowgrid/idtext"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/sqltest"
	"github.com/snowgrid/snowgrid/sequencer"
)

// randomIDs returns distinct IDs in random order, with the smallest and the largest.
func randomIDs(count int) []sequencer.ID {
	random := rand.New(rand.NewPCG(uint64(count), 1)) //nolint:gosec // a test repeats them
	ids := []sequencer.ID{0, 1, 1<<63 - 2, 1<<63 - 1}
	for len(ids) < count {
		for len(ids) < count {
			// Of all lengths, and so with many common beginnings.
			ids = append(ids, sequencer.ID(random.Int64()>>random.IntN(40)))
		}
		slices.Sort(ids)
		ids = slices.Compact(ids)
	}
	random.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	return ids
}

// TestOrder: sorted by their texts in Base32 and Base62, and by their bytes, IDs are in the order of the numbers:
// in Go, in PostgreSQL with the collation C, and in MariaDB with a binary collation. With -long, of 10 million IDs.
func TestOrder(t *testing.T) {
	ids := randomIDs(long.Or(20_000, 10_000_000))
	t.Run("Go", func(t *testing.T) { checkOrderInGo(t, ids) })
	for _, c := range []struct {
		name, create string
		open         func(t *testing.T) *sql.DB
		load         func(t *testing.T, db *sql.DB, ids []sequencer.ID)
	}{
		{"PostgreSQL", `CREATE TABLE texts (id bigint, base32 text COLLATE "C", base62 text COLLATE "C", bytes bytea)`,
			func(t *testing.T) *sql.DB { return sqltest.StartPostgres(t, "max_wal_size=8GB").Open() }, copyIDs},
		{"MariaDB", `CREATE TABLE texts (id BIGINT, base32 CHAR(13) CHARACTER SET ascii COLLATE ascii_bin,
			base62 CHAR(11) CHARACTER SET ascii COLLATE ascii_bin, bytes BINARY(8))`,
			func(t *testing.T) *sql.DB { return sqltest.StartMariaDB(t).Open() }, loadIDs},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := c.open(t)
			if _, err := db.ExecContext(t.Context(), c.create); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			c.load(t, db, ids)
			t.Logf("%d IDs stored in %v", len(ids), time.Since(began).Round(time.Millisecond))
			for _, column := range []string{"id", "base32", "base62", "bytes"} {
				began := time.Now()
				checkOrderBy(t, db, column, len(ids))
				t.Logf("read in the order of %s in %v", column, time.Since(began).Round(time.Millisecond))
			}
		})
	}
}

// checkOrderInGo checks that the texts and bytes of each ID are below the texts and bytes of the next ID.
func checkOrderInGo(t *testing.T, ids []sequencer.ID) {
	t.Helper()
	sorted := slices.Sorted(slices.Values(ids))
	for i, id := range sorted[1:] {
		before := sorted[i]
		low, high := before.Bytes(), id.Bytes()
		if idtext.Base32(before) >= idtext.Base32(id) || idtext.Base62(before) >= idtext.Base62(id) ||
			slices.Compare(low[:], high[:]) >= 0 {
			t.Fatalf("ID %v is before %v, and its texts or bytes are not", before, id)
		}
	}
}

// checkOrderBy reads the IDs in the order of a column.
func checkOrderBy(t *testing.T, db *sql.DB, column string, count int) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT id FROM texts ORDER BY "+column)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	found, before := 0, sequencer.ID(-1)
	for ; rows.Next(); found++ {
		var id sequencer.ID
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		if id <= before {
			t.Fatalf("in the order of %s ID %v is before %v", column, before, id)
		}
		before = id
	}
	if err := rows.Err(); err != nil || found != count {
		t.Fatalf("%d IDs in the order of %s, want %d: %v", found, column, count, err)
	}
}

// copyIDs stores IDs in PostgreSQL.
func copyIDs(t *testing.T, db *sql.DB, ids []sequencer.ID) {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	rows := pgx.CopyFromSlice(len(ids), func(i int) ([]any, error) {
		bytes := ids[i].Bytes()
		return []any{int64(ids[i]), idtext.Base32(ids[i]), idtext.Base62(ids[i]), bytes[:]}, nil
	})
	err = conn.Raw(func(driver any) error {
		_, err := driver.(*stdlib.Conn).Conn().CopyFrom(t.Context(), pgx.Identifier{"texts"},
			[]string{"id", "base32", "base62", "bytes"}, rows)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// loadIDs stores IDs in MariaDB.
func loadIDs(t *testing.T, db *sql.DB, ids []sequencer.ID) {
	t.Helper()
	const name = "ids"
	mysql.RegisterReaderHandler(name, func() io.Reader {
		reader, writer := io.Pipe()
		go func() {
			var lines strings.Builder
			for i, id := range ids {
				bytes := id.Bytes()
				fmt.Fprintf(&lines, "%d\t%s\t%s\t%s\n", int64(id), idtext.Base32(id), idtext.Base62(id),
					hex.EncodeToString(bytes[:]))
				if i%1000 == 999 || i == len(ids)-1 {
					if _, err := io.WriteString(writer, lines.String()); err != nil {
						return // the reader is closed
					}
					lines.Reset()
				}
			}
			_ = writer.Close()
		}()
		return reader
	})
	defer mysql.DeregisterReaderHandler(name)
	if _, err := db.ExecContext(t.Context(), "LOAD DATA LOCAL INFILE 'Reader::"+name+
		"' INTO TABLE texts (id, base32, base62, @hex) SET bytes = UNHEX(@hex)"); err != nil {
		t.Fatal(err)
	}
}
