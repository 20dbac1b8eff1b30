package grid_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/long"
)

// TestNumberOfAnotherSet: a member does not start with the directory of another set or
// cluster, nor with a damaged application, and the files stay as they are. Without a set it
// starts, and keeps the number.
func TestNumberOfAnotherSet(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	cfg := alone(t)
	cfg.Identity.Set = "ids"
	first, err := grid.Start(testContext(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if s := first.Status().Identity; first.Number() != 1 || s.Incarnation != 1 || !first.Ready() {
		t.Errorf("number %d, %+v", first.Number(), s)
	}
	_ = first.Close()
	path, temp := filepath.Join(cfg.DataDir, ".member.meta"), filepath.Join(cfg.DataDir, ".member.meta.temp")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []grid.Identity{{Set: "api"}, {Set: "ids", Cluster: "other"}} {
		wrong := cfg
		wrong.Identity = other
		mustNotStart(t, wrong, "Identity", `set "ids" of cluster "snowgrid"`, other.Set)
	}
	if err := os.WriteFile(temp, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	mustNotStart(t, cfg, temp, "is damaged")
	if left, err := os.ReadFile(temp); err != nil || string(left) != "half" {
		t.Errorf("the damaged application is %q, %v", left, err)
	}
	none := cfg
	none.Identity = grid.Identity{}
	m, err := grid.Start(testContext(t), none)
	if err != nil {
		t.Fatal(err)
	}
	if m.Number() != 0 || m.Status().Identity != nil {
		t.Errorf("without a set: number %d, %+v", m.Number(), m.Status().Identity)
	}
	_ = m.Close()
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("the identity was %s and is %s, %v", before, after, err)
	}
	if err := os.Remove(temp); err != nil {
		t.Fatal(err)
	}
	m, err = grid.Start(testContext(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	if s := m.Status().Identity; m.Number() != 1 || s.Incarnation != 2 {
		t.Errorf("started again: number %d, %+v", m.Number(), s)
	}
}

// TestIdentityNeedsADirectory: and a set has a name of limited length.
func TestIdentityNeedsADirectory(t *testing.T) {
	for _, identity := range []grid.Identity{{Set: "ids"}, {Cluster: "shop"}, {Set: strings.Repeat("x", 64)}} {
		cfg := alone(t)
		if identity.Set == "ids" {
			cfg.DataDir = ""
		}
		cfg.Identity = identity
		mustNotStart(t, cfg, "Identity")
	}
}
