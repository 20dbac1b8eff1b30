package definitions_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/snowgrid/snowgrid/grid/internal/definitions"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// filled returns the directory of a closed store with some tables, and what it has.
func filled(t *testing.T, names int) (string, map[roster.PartitionID]definitions.Table) {
	t.Helper()
	s, dir := newStore(t)
	tables := map[roster.PartitionID]definitions.Table{}
	for id := range roster.PartitionID(4) {
		var records []definitions.Record
		for i := range names * int(id) {
			records = append(records, record(t, fmt.Sprintf("name-%05d", i), int64(i+1)))
		}
		commit(t, s, whole(id, at(2, 1), records...))
	}
	change := definitions.Write{Partition: 1, Position: at(2, 2)}
	change.Removed = []string{"name-00000"}
	commit(t, s, change)
	for id := range roster.PartitionID(4) {
		tables[id] = load(t, s, id)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, tables
}

// TestOpenRefuses: a file that is not this member's whole store is refused, with the error
// and the path.
func TestOpenRefuses(t *testing.T) {
	edit := func(key string, value []byte) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			s := open(t, filepath.Dir(path))
			if err := s.Edit(func(tx *bolt.Tx) error { return tx.Bucket([]byte("file")).Put([]byte(key), value) }); err != nil {
				t.Fatal(err)
			}
			_ = s.Close()
		}
	}
	truncate := func(size int64) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			if err := os.Truncate(path, size); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		harm func(t *testing.T, path string)
		want string
	}{
		"missing":       {func(_ *testing.T, path string) { _ = os.Remove(path) }, "missing"},
		"empty":         {truncate(0), "empty (0 bytes)"},
		"cut in a head": {truncate(100), "damaged"},
		"cut off":       {truncate(3 * 4096), "cut off"},
		"a directory": {func(_ *testing.T, path string) { _ = os.Remove(path); _ = os.Mkdir(path, 0o700) },
			"not a regular file"},
		"newest description damaged": {func(t *testing.T, path string) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			newest := 0
			if txid := func(page int) uint64 { return binary.NativeEndian.Uint64(data[page*4096+64:]) }; txid(1) > txid(0) {
				newest = 4096
			}
			data[newest+30] ^= 1
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "checksum"},
		"older description torn": {func(t *testing.T, path string) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			copy(data[4096+16:4096+80], data[16:80]) // one of them is there twice
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "do not follow each other"},
		"other content": {func(_ *testing.T, path string) { _ = os.WriteFile(path, bytes.Repeat([]byte("x"), 1<<15), 0o600) },
			"damaged"},
		"other member": {edit("member", []byte("fedcba9876543210")), "belongs to member"},
		"newer format": {edit("format", binary.BigEndian.AppendUint32(nil, 2)), "format 2"},
		"no format":    {edit("format", []byte{1}), "no format number"},
		"bad grid":     {edit("grid", []byte{1}), "grid ID"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := filled(t, 5)
			path := filepath.Join(dir, definitions.File)
			c.harm(t, path)
			_, err := definitions.Open(dir, member)
			if !errors.Is(err, definitions.ErrUnusable) || !strings.Contains(err.Error(), path) ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want ErrUnusable, %s and %q", err, path, c.want)
			}
		})
	}
}

// TestOpenFindsEveryDamage: with any byte of the file changed, the store either is
// refused or has exactly the stored content; it never ends the process.
func TestOpenFindsEveryDamage(t *testing.T) {
	dir, want := filled(t, 60)
	path := filepath.Join(dir, definitions.File)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	refused := 0
	rounds := long.Or(500, 1500)
	for range rounds {
		harmed := bytes.Clone(whole)
		i, bit := random.IntN(len(harmed)), byte(1)<<random.IntN(8)
		if random.IntN(2) == 0 { // where pages, elements and offsets are
			i = random.IntN(len(harmed)/4096)*4096 + random.IntN(200)
		}
		harmed[i] ^= bit
		if err := os.WriteFile(path, harmed, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := definitions.Open(dir, member)
		if err != nil {
			if !errors.Is(err, definitions.ErrUnusable) {
				t.Fatalf("byte %d changed: %v", i, err)
			}
			refused++
			continue
		}
		if s.Grid() != aGrid {
			_ = s.Close() // the identity beside it names the grid
			continue
		}
		for id, table := range want {
			if got := load(t, s, id); !reflect.DeepEqual(got, table) {
				t.Fatalf("byte %d changed: partition %d is another", i, id)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if refused < rounds/10 || refused == rounds {
		t.Errorf("%d of %d changed files were refused", refused, rounds)
	}
}

// TestOpenEndsOnACircle: a branch that leads back to itself is damage, and not a walk
// without end.
func TestOpenEndsOnACircle(t *testing.T) {
	dir, _ := filled(t, 200)
	path := filepath.Join(dir, definitions.File)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	circles := 0
	for at := 2 * 4096; at+4096 <= len(data); at += 4096 {
		if binary.NativeEndian.Uint16(data[at+8:]) == 1 { // a branch
			copy(data[at+16+8:at+16+16], data[at:at+8]) // its first child is itself
			circles++
		}
	}
	if circles == 0 {
		t.Fatal("the file has no branch")
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := definitions.Open(dir, member); !errors.Is(err, definitions.ErrUnusable) {
		t.Errorf("the error is %v", err)
	}
}

// TestLostRecordIsDamage: a record that is missing, or is there again, is found, though
// every page and every record is whole.
func TestLostRecordIsDamage(t *testing.T) {
	for name, harm := range map[string]func(records *bolt.Bucket) error{
		"lost": func(records *bolt.Bucket) error { return records.Delete([]byte("name-00003")) },
		"changed": func(records *bolt.Bucket) error {
			return records.Put([]byte("name-00003"), definitions.EncodeRecord(record(t, "name-00003", 50)))
		},
		"back": func(records *bolt.Bucket) error {
			return records.Put([]byte("name-00000"), definitions.EncodeRecord(record(t, "name-00000", 1)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := filled(t, 5)
			s := open(t, dir)
			if err := s.Edit(func(tx *bolt.Tx) error {
				return harm(tx.Bucket([]byte("partitions")).Bucket([]byte{0, 1}).Bucket([]byte("records")))
			}); err != nil {
				t.Fatal(err)
			}
			if _, _, err := s.Load(1); err == nil {
				t.Error("it is loaded")
			}
			_ = s.Close()
			if _, err := definitions.Open(dir, member); !errors.Is(err, definitions.ErrUnusable) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// TestUnknownFieldsAreSkipped: a record and a head with fields of a newer version are
// read as far as they are known.
func TestUnknownFieldsAreSkipped(t *testing.T) {
	want := record(t, "orders", 6)
	value := append(definitions.EncodeRecord(want), 99, 3, 'n', 'e', 'w')
	got, err := definitions.DecodeRecord([]byte("orders"), value)
	if err != nil || got != want {
		t.Errorf("read is %v, %v; want %v", got, err, want)
	}
}

// TestCreateIsWhole: a create that was interrupted leaves nothing that is taken for a
// store, and one beside a store is refused.
func TestCreateIsWhole(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, definitions.File+".temp"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := definitions.Create(dir, member); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
	if err := definitions.Create(dir, member); err == nil {
		t.Error("created over a store")
	}
}

// FuzzDecodeRecord: any value is a record that is encoded again to what reads the
// same, or an error.
func FuzzDecodeRecord(f *testing.F) {
	f.Add("orders", []byte{1, 1, 0})
	f.Add("orders", definitions.EncodeRecord(record(f, "orders", 6)))
	f.Fuzz(func(t *testing.T, name string, value []byte) {
		r, err := definitions.DecodeRecord([]byte(name), value)
		if err != nil {
			return
		}
		if again, err := definitions.DecodeRecord([]byte(name), definitions.EncodeRecord(r)); err != nil || again != r {
			t.Errorf("read again it is %v, %v; want %v", again, err, r)
		}
	})
}

// TestLostPartitionIsDamage: a partition that is gone as a whole is found, and a store
// that has partitions and no grid.
func TestLostPartitionIsDamage(t *testing.T) {
	for name, harm := range map[string]func(tx *bolt.Tx) error{
		"partition lost": func(tx *bolt.Tx) error { return tx.Bucket([]byte("partitions")).DeleteBucket([]byte{0, 1}) },
		"grid lost":      func(tx *bolt.Tx) error { return tx.Bucket([]byte("file")).Delete([]byte("grid")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := filled(t, 5)
			s := open(t, dir)
			if err := s.Edit(harm); err != nil {
				t.Fatal(err)
			}
			_ = s.Close()
			if _, err := definitions.Open(dir, member); !errors.Is(err, definitions.ErrUnusable) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
