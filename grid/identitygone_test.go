package grid_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/snowgrid/snowgrid/grid"
)

// TestIdentityGoneOtherGrid has a member without identity, but with the Raft log
// of one grid, join another: its old log must not take part in that.
func TestIdentityGoneOtherGrid(t *testing.T) {
	old := alone(t)
	m, err := grid.Start(testContext(t), old)
	if err != nil {
		t.Fatal(err)
	}
	was := m.Status().Grid
	_ = m.Close()
	if err := os.Remove(filepath.Join(old.DataDir, ".member.meta")); err != nil {
		t.Fatal(err)
	}
	other := startOne(t, nil)
	now := other.Status()
	old.Expect, old.Join = 0, []string{other.Addrs().Gossip}
	m, err = grid.Start(testContext(t), old)
	if err != nil {
		t.Logf("refused: %v", err)
		return
	}
	defer m.Close()
	s := m.Status()
	t.Errorf("it took part with the log of grid %s: now %s, grid %s version %d, members %+v", was, s.Grid, now.Grid,
		s.Version, s.Members)
	serves(t, other)
}

// TestIdentityGone removes the identity file beside a log that is still there.
func TestIdentityGone(t *testing.T) {
	cfg := alone(t)
	m, err := grid.Start(testContext(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	serves(t, m)
	before := m.Status()
	_ = m.Close()
	if err := os.Remove(filepath.Join(cfg.DataDir, ".member.meta")); err != nil {
		t.Fatal(err)
	}
	mustNotStart(t, cfg, "DataDir")
	if _, err := os.Stat(filepath.Join(cfg.DataDir, ".member.meta")); err == nil {
		t.Errorf("a new identity was written beside the log of grid %s", before.Grid)
	}
}
