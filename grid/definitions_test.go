package grid_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"

	"github.com/snowgrid/snowgrid/sequencer"
)

// TestLostDefinitionsRefuseTheStart: a member that belongs to a grid does not start
// without its definitions, nor definitions without their identity: it would show a disk
// that has less than it answered for. The error names the file and the remedy.
func TestLostDefinitionsRefuseTheStart(t *testing.T) {
	t.Parallel()
	const identity, stored = ".member.meta", "definitions.db"
	truncate := func(size int64) func(path string) error {
		return func(path string) error { return os.Truncate(path, size) }
	}
	for name, c := range map[string]struct {
		file  string
		harm  func(path string) error
		words []string
	}{
		"missing":          {stored, os.Remove, []string{"it is missing"}},
		"empty":            {stored, truncate(0), []string{"it is empty (0 bytes)"}},
		"cut off":          {stored, truncate(5000), []string{"damaged"}},
		"damaged":          {stored, flip, []string{"damaged"}},
		"without identity": {identity, os.Remove, []string{identity + " is missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := alone(t)
			m, err := grid.Start(testContext(t), cfg)
			if err != nil {
				t.Fatal(err)
			}
			serves(t, m)
			member, _, _ := strings.Cut(m.Status().Answering, "-")
			_ = m.Close()
			if err := c.harm(filepath.Join(cfg.DataDir, c.file)); err != nil {
				t.Fatal(err)
			}
			words := append(c.words, stored, cfg.DataDir, "snowgrid forget", "empty directory as a new member")
			if c.file == stored {
				words = append(words, "snowgrid forget "+member)
			}
			for range 2 { // a refusal changes nothing
				mustNotStart(t, cfg, words...)
			}
			if c.file == identity {
				if _, err := os.Stat(filepath.Join(cfg.DataDir, identity)); err == nil {
					t.Error("a new identity was written beside the definitions of another member")
				}
			}
		})
	}
}

// flip changes one bit in every page of a file but the first two.
func flip(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for at := 2*os.Getpagesize() + 10; at < len(data); at += os.Getpagesize() {
		data[at] ^= 4
	}
	return os.WriteFile(path, data, 0o600)
}

// TestOthersDefinitionsRefuseTheStart: the definitions of another member, or of another
// grid, are not taken for one's own.
func TestOthersDefinitionsRefuseTheStart(t *testing.T) {
	var dirs []string
	for range 2 {
		cfg := alone(t)
		m, err := grid.Start(testContext(t), cfg)
		if err != nil {
			t.Fatal(err)
		}
		_ = m.Close()
		dirs = append(dirs, cfg.DataDir)
	}
	data, err := os.ReadFile(filepath.Join(dirs[0], "definitions.db"))
	if err != nil {
		t.Fatal(err)
	}
	cfg := alone(t)
	cfg.DataDir = dirs[1]
	if err := os.WriteFile(filepath.Join(dirs[1], "definitions.db"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	mustNotStart(t, cfg, "definitions.db", "belongs to member")
}

// TestNewDirectoryStarts: a directory in which a first start came to nothing, at any
// point before the member was in a grid, is that of a new member.
func TestNewDirectoryStarts(t *testing.T) {
	t.Parallel()
	cfg := alone(t)
	m, err := grid.Start(testContext(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	_ = m.Close()
	for _, rest := range [][]string{{"definitions.db.temp"}, {".member.meta.temp"}} {
		again := alone(t)
		for _, name := range rest {
			if err := os.WriteFile(filepath.Join(again.DataDir, name), []byte("half"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		m, err := grid.Start(testContext(t), again)
		if err != nil {
			t.Fatal(err)
		}
		serves(t, m)
		_ = m.Close()
	}
}

// TestFailedDefinitionsAreAFailedDisk: a member that cannot write definitions is out, as
// one that cannot write its log is: it says so, and others take its place.
func TestFailedDefinitionsAreAFailedDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log errorLog
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true, Logger: slog.New(&log)})
		c := g.Client("c1")
		if _, err := c.CreateSequencer(t.Context(), "orders", sequencer.Config{}); err != nil {
			t.Fatal(err)
		}
		failed := g.OwnerOf("orders")
		if err := g.Member(failed).CloseDefinitions(); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} { // some are its own
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if _, err := c.CreateSequencer(ctx, name, sequencer.Config{}); err != nil {
				t.Fatalf("create %s: %v", name, err)
			}
			cancel()
		}
		time.Sleep(10 * time.Second)
		others := slices.DeleteFunc(g.Running(), func(name string) bool { return name == failed })
		was := g.Member(failed).Status().Answering
		if now := g.Member(others[0]).Status().OwnerOf("orders"); now == was || now == "" {
			t.Errorf("%q owns it, and the disk of %s has failed", now, was)
		}
		if g.Member(failed).Ready() || !log.has("disk failed", "writing the definitions") {
			t.Errorf("ready: %v, logged:\n%s", g.Member(failed).Ready(), strings.Join(log.lines, "\n"))
		}
	})
}

// TestCreateNamesTheFailedDisk: where no other member can take over, a create that waits for the
// disk ends with the reason why it waits.
func TestCreateNamesTheFailedDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 1, Durable: true})
		m, c := g.Member("m1"), g.Client("c1")
		if err := m.CloseDefinitions(); err != nil {
			t.Fatal(err)
		}
		for name, create := range map[string]func(context.Context) error{
			"client": func(ctx context.Context) error {
				_, err := c.CreateSequencer(ctx, "orders", sequencer.Config{})
				return err
			},
			"member": func(ctx context.Context) error {
				_, err := m.CreateSequencer(ctx, "bills", sequencer.Config{})
				return err
			},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			err := create(ctx)
			cancel()
			if !errors.Is(err, sequencer.ErrUnavailable) ||
				!strings.Contains(err.Error(), "failed while writing the definitions") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
