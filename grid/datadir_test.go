package grid_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/sequencer"
)

// logLosses are ways in which a data directory loses its Raft log.
var logLosses = map[string]func(t *testing.T, path string){
	"missing": func(t *testing.T, path string) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	},
	"empty": func(t *testing.T, path string) {
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
	},
	"of another member": func(t *testing.T, path string) {
		other := t.TempDir()
		l, err := raftlog.Open(other)
		if err == nil {
			err = l.Close()
		}
		if err == nil {
			err = os.Rename(filepath.Join(other, "raft.db"), path)
		}
		if err != nil {
			t.Fatal(err)
		}
	},
}

// TestLogGone: a member whose identity names a grid does not start without the log
// of that grid, however often it is tried: its votes and entries are lost, and under
// its old ID it would take them back (B2, R8).
func TestLogGone(t *testing.T) {
	t.Parallel()
	for what, lose := range logLosses {
		t.Run(what, func(t *testing.T) {
			cfg := alone(t)
			m, err := grid.Start(testContext(t), cfg)
			if err != nil {
				t.Fatal(err)
			}
			serves(t, m)
			_ = m.Close()
			path := filepath.Join(cfg.DataDir, "raft.db")
			lose(t, path)
			for range 2 {
				mustNotStart(t, cfg, path, "empty directory")
			}
			if info, err := os.Stat(path); what != "of another member" && err == nil && info.Size() > 0 {
				t.Errorf("a start that was refused has written %d bytes", info.Size())
			}
		})
	}
}

// TestLogGoneOfAVoter: the same for one of three voters, whose grid continues.
func TestLogGoneOfAVoter(t *testing.T) {
	t.Parallel()
	for what, lose := range logLosses {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dirs := map[string]string{}
				g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true, Change: func(name string, c *grid.Config) {
					dirs[name] = c.DataDir
				}})
				g.Crash("m1")
				lose(t, filepath.Join(dirs["m1"], "raft.db"))
				for range 2 {
					if err := g.TryMember(t.Context(), "m1"); !errors.Is(err, sequencer.ErrInvalidConfig) {
						t.Errorf("error %v, want ErrInvalidConfig", err)
					}
				}
				if _, err := g.Client("c").CreateSequencer(t.Context(), "orders", sequencer.Config{}); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestLogOfBeforeTheGrid: a restored log without an entry of the member's grid is named as the cause of the wait.
func TestLogOfBeforeTheGrid(t *testing.T) {
	t.Parallel()
	cfg := alone(t)
	path := filepath.Join(cfg.DataDir, "raft.db")
	waits := func(cfg grid.Config) error {
		ctx, cancel := context.WithTimeout(testContext(t), 2*time.Second)
		defer cancel()
		m, err := grid.Start(ctx, cfg)
		if err == nil {
			_ = m.Close()
		}
		return err
	}
	unformed := cfg
	unformed.Expect = 2
	if err := waits(unformed); err == nil {
		t.Fatal("one of two members serves")
	}
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := grid.Start(testContext(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	serves(t, m)
	_ = m.Close()
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := waits(cfg); err == nil || !strings.Contains(err.Error(), "raft.db has no entry of it") {
		t.Errorf("with a log of before the grid: %v", err)
	}
}

// TestAttemptBegunAgain: a bootstrap member that died after it noted its grid, and before the
// roster's first entry, starts again, and its grid is formed.
func TestAttemptBegunAgain(t *testing.T) {
	t.Parallel()
	for _, members := range []int{1, 3} {
		for what, note := range map[string]func(dir string) error{
			"grid noted": grid.NoteAttempt, "Raft begun": grid.NoteBootstrap,
		} {
			t.Run(what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					dir := t.TempDir()
					if err := note(dir); err != nil {
						t.Fatal(err)
					}
					g := gridtest.Start(t, gridtest.Config{Members: members, Durable: true, Change: func(name string, c *grid.Config) {
						if name == "m1" {
							c.DataDir = dir
						}
					}})
					for range 2 {
						if _, err := g.Client("c").CreateSequencer(t.Context(), "orders", sequencer.Config{}); err != nil {
							t.Error(err)
						}
						g.Crash("m1")
						g.StartMembers("m1")
					}
				})
			})
		}
	}
}
