package grid_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/identity"
	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Outcomes of a start on a directory of which one file was damaged. Any other is a failure.
const (
	refusedStart = "refused"
	rightStart   = "correct"
)

var damageTrials = flag.Int("damage", 0, "number of `trials` of TestDamagedFiles, instead of a few for each file")

// TestDamagedFiles flips bits in every stored file of a member, a client, a store and an anchor,
// cuts them off and clears sectors, one at a time. A start is refused with an error that names
// the file or the key, or everything is as it was: no name is lost or back, and no ID lies below
// an earlier grant. The test prints the counts.
func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what    string
		usual   int // trials
		share   int // of 10,000 trials with -damage
		prepare func(t *testing.T, dir string) (try func(t *testing.T, dir, file string) string)
	}{
		{"member", 15, 7000, damagedMember},
		{"client", 60, 1000, damagedClient},
		{"store", 9, 1000, damagedStore},
		{"anchor", 5, 1000, damagedAnchor},
	} {
		t.Run(c.what, func(t *testing.T) {
			dir := t.TempDir()
			try := c.prepare(t, dir)
			random, counts := rand.New(rand.NewPCG(1, 34)), map[string]int{}
			files := storedFiles(t, dir)
			trials := c.usual
			if *damageTrials > 0 {
				trials = *damageTrials * c.share / 10_000
			}
			for i := range trials {
				file := files[i%len(files)]
				whole, err := os.ReadFile(filepath.Join(dir, file))
				if err != nil {
					t.Fatal(err)
				}
				harmed, how := damage(random, whole)
				kind, _, _ := strings.Cut(how, " ")
				outcome := tryDamaged(t, dir, file, harmed, try)
				counts[fmt.Sprintf("%s, %s: %.30s", shortened(file), kind, outcome)]++
				if outcome != refusedStart && outcome != rightStart || outcome == refusedStart && bytes.Equal(harmed, whole) {
					t.Errorf("%s, %s: %s", file, how, outcome)
				}
			}
			for _, line := range slices.Sorted(func(yield func(string) bool) {
				for k := range counts {
					if !yield(k) {
						return
					}
				}
			}) {
				t.Logf("%6d %s", counts[line], line)
			}
		})
	}
}

// storedFiles returns the files below a directory that have content.
func storedFiles(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if info, err := entry.Info(); err != nil || info.Size() == 0 {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		files = append(files, rel)
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("files %v, %v", files, err)
	}
	return files
}

// shortened leaves the random names out of a path.
func shortened(file string) string {
	if strings.HasPrefix(file, "snapshots") {
		return filepath.Base(file)
	}
	return file
}

// damage returns a file with one bit flipped, cut off, or with a sector cleared, and what was done.
func damage(random *rand.Rand, whole []byte) ([]byte, string) {
	at := random.IntN(len(whole))
	switch random.IntN(4) {
	case 0:
		return whole[:at], fmt.Sprintf("cut at %d", at)
	case 1:
		harmed := bytes.Clone(whole)
		at = at / 512 * 512
		clear(harmed[at:min(at+512, len(harmed))])
		return harmed, fmt.Sprintf("cleared from %d on", at)
	}
	for range 100 { // most bytes of a database are unused
		if whole[at] != 0 {
			break
		}
		at = random.IntN(len(whole))
	}
	harmed, bit := bytes.Clone(whole), byte(1)<<random.IntN(8)
	harmed[at] ^= bit
	return harmed, fmt.Sprintf("flip of %#x in byte %d", bit, at)
}

// tryDamaged starts on a copy of a directory with one file replaced.
func tryDamaged(t *testing.T, dir, file string, harmed []byte, try func(t *testing.T, dir, file string) string) string {
	t.Helper()
	copied, err := os.MkdirTemp("", "damaged-")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(copied) }()
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(copied, file), harmed, 0o600); err != nil {
		t.Fatal(err)
	}
	return try(t, copied, file)
}

// refusal returns the outcome of a start that failed: its error has to name a word.
func refusal(err error, words ...string) string {
	for _, word := range words {
		if strings.Contains(err.Error(), word) {
			return refusedStart
		}
	}
	return "an error that names nothing: " + err.Error()
}

// damagedMember fills the data directory of a lone member with a number: names, one that was destroyed, a
// snapshot, and a log after it.
func damagedMember(t *testing.T, dir string) func(t *testing.T, dir, file string) string {
	config := func(dir string) gridtest.Config {
		return gridtest.Config{Members: 1, Change: func(_ string, c *grid.Config) {
			c.DataDir, c.Partitions, c.Identity.Set = dir, 3, "servers"
		}}
	}
	earlier := epoch.UnixMilli(1_700_000_000_000)
	var granted time.Time
	var number uint64
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, config(dir))
		c := g.Client("web")
		for i := range 3 {
			s, err := c.CreateSequencer(t.Context(), fmt.Sprint("name-", i), sequencer.Config{Epoch: earlier})
			if err != nil {
				t.Fatal(err)
			}
			if i == 2 {
				if err := s.Destroy(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		time.Sleep(10 * time.Second)
		cutLog(t, g.Member("m1"))
		time.Sleep(20 * time.Second)
		s, err := c.OpenSequencer(t.Context(), "name-0")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		granted, number = s.Stats().GrantUntil, g.Member("m1").Number()
		g.Crash("m1")
	})
	return func(t *testing.T, dir, file string) (outcome string) {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(35 * time.Second) // the bubble of the first life ended then
			g := gridtest.New(t, config(dir))
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			if err := g.TryMember(ctx, "m1"); err != nil {
				outcome = refusal(err, filepath.Join(dir, file), filepath.Join(dir, "snapshots"), filepath.Join(dir, "raft.db"))
				return
			}
			outcome = continues(ctx, g, earlier, granted, number)
		})
		return outcome
	}
}

// continues returns whether a member that has started has everything that it had.
func continues(ctx context.Context, g *gridtest.Grid, earlier epoch.Epoch, granted time.Time, number uint64) string {
	if got := g.Member("m1").Number(); got != number {
		return fmt.Sprintf("its number is %d and was %d", got, number)
	}
	c := g.Client("again")
	for i := range 2 {
		s, err := c.CreateSequencer(ctx, fmt.Sprint("name-", i), sequencer.Config{Epoch: earlier})
		if err != nil {
			return "create: " + err.Error()
		}
		id, err := s.Next(ctx)
		if err != nil {
			return "next: " + err.Error()
		}
		if at := s.Definition().Decompose(id).Time; at.Before(granted) {
			return fmt.Sprintf("an ID %v below an earlier grant", granted.Sub(at))
		}
		if _, err := g.Member("m1").CreateSequencer(ctx, fmt.Sprint("name-", i), sequencer.Config{}); !errors.Is(err,
			sequencer.ErrConflict) {
			return fmt.Sprintf("its definition is lost: %v", err)
		}
	}
	if _, err := c.OpenSequencer(ctx, "name-2"); !errors.Is(err, sequencer.ErrNotFound) {
		return fmt.Sprintf("a destroyed name is back: %v", err)
	}
	return rightStart
}

// damagedClient fills the data directory of a client: its number, an application, and its logical nodes.
func damagedClient(t *testing.T, dir string) func(t *testing.T, dir, file string) string {
	read := func(dir string) (files identity.Files, nodes sequencer.NodeID, err error) {
		d, lock, err := identity.OpenDir(dir)
		if err != nil {
			return files, 0, err
		}
		defer func() { _ = lock.Close() }()
		if files, err = d.Read(); err != nil {
			return files, 0, err
		}
		kept, err := identity.OpenNodes(dir, slog.New(slog.DiscardHandler))
		if err != nil {
			return files, 0, err
		}
		defer kept.Close()
		node, _, _ := kept.Wanted(kept.Take("orders"))
		return files, node, nil
	}
	d, lock, err := identity.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	number := identity.Number{Cluster: "c", Set: "web", ID: 7, Code: numbers.Code{1, 2, 3}}
	next := number
	next.ID = 8
	if err := errors.Join(d.StoreNumber(number), d.StoreApplication(next)); err != nil {
		t.Fatal(err)
	}
	nodes, err := identity.OpenNodes(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	nodes.Attached(nodes.Take("orders"), 5, attachment.ID{9})
	nodes.Close()
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	whole, _, err := read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return func(_ *testing.T, dir, file string) string {
		files, node, err := read(dir)
		switch {
		case err != nil:
			return refusal(err, filepath.Join(dir, file))
		case !reflect.DeepEqual(files, whole):
			return fmt.Sprintf("%+v were %+v", files, whole)
		case node != 5 && node != 0: // a hint that is lost costs its logical node, and no more
			return fmt.Sprintf("logical node %d was 5", node)
		}
		return rightStart
	}
}

// damagedStore fills a store of files: a sequencer with a holder that was killed, and one that was destroyed.
func damagedStore(t *testing.T, dir string) func(t *testing.T, dir, file string) string {
	open := func(t *testing.T, dir string) (*store.Client, error) {
		s, err := store.OpenFile(dir)
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { _ = s.Close() })
		return store.Open(t.Context(), s, store.Config{Pool: 2, Window: 3 * time.Second, Clock: gridtest.Now})
	}
	granted := map[string]time.Time{}
	var gone sequencer.ID
	synctest.Test(t, func(t *testing.T) {
		c, err := open(t, dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"orders", "gone"} {
			s, err := c.CreateSequencer(t.Context(), name, sequencer.Config{})
			if err != nil {
				t.Fatal(err)
			}
			id, err := s.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			granted[name] = s.Stats().GrantUntil
			if name == "gone" {
				gone = id
				if err := s.Destroy(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = c.Close() // the record stays held
	})
	return func(t *testing.T, dir, file string) (outcome string) {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Second) // before the killed holder's grant has ended
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			outcome = rightStart
			for range 2 { // both logical nodes
				c, err := open(t, dir)
				if err != nil {
					outcome = refusal(err, dir, filepath.Base(file))
					return
				}
				defer func() { _ = c.Close() }()
				for _, name := range []string{"orders", "gone"} {
					s, err := c.CreateSequencer(ctx, name, sequencer.Config{})
					if err != nil {
						outcome = refusal(err, name)
						continue
					}
					id, err := s.Next(ctx)
					node, _ := s.LogicalNode()
					switch at := s.Definition().Decompose(id).Time; {
					case err != nil:
						outcome = "next: " + err.Error()
					case name == "orders" && node == 0 && at.Before(granted[name]):
						outcome = fmt.Sprintf("an ID %v below an earlier grant", granted[name].Sub(at))
					case name == "gone" && id <= gone:
						outcome = fmt.Sprintf("ID %d is not above %d of an earlier life", id, gone)
					}
				}
			}
		})
		return outcome
	}
}

// damagedAnchor fills a store with the record of a grid that was killed.
func damagedAnchor(t *testing.T, dir string) func(t *testing.T, dir, file string) string {
	start := func(t *testing.T, dir string) (*gridtest.Grid, error) {
		s, err := store.OpenFile(dir)
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { _ = s.Close() })
		g := gridtest.New(t, gridtest.Config{Members: 1, Change: func(_ string, c *grid.Config) {
			c.Anchor, c.Partitions = s, 3
		}})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		return g, g.TryMember(ctx, "m1")
	}
	next := func(t *testing.T, g *gridtest.Grid) (at, until time.Time, err error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s, err := g.Client("c").CreateSequencer(ctx, "orders", sequencer.Config{})
		if err != nil {
			return at, until, err
		}
		id, err := s.Next(ctx)
		return s.Definition().Decompose(id).Time, s.Stats().GrantUntil, err
	}
	var granted time.Time
	synctest.Test(t, func(t *testing.T) {
		g, err := start(t, dir)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		if _, granted, err = next(t, g); err != nil {
			t.Fatal(err)
		}
		g.Crash("m1")
	})
	return func(t *testing.T, dir, _ string) (outcome string) {
		synctest.Test(t, func(t *testing.T) {
			g, err := start(t, dir)
			if err != nil {
				outcome = refusal(err, "anchor")
				return
			}
			at, _, err := next(t, g)
			switch {
			case err != nil:
				outcome = refusal(err, "anchor")
			case at.Before(granted):
				outcome = fmt.Sprintf("an ID %v below an earlier grant", granted.Sub(at))
			default:
				outcome = rightStart
			}
		})
		return outcome
	}
}
