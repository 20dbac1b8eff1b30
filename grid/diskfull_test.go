//go:build linux

package grid_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// tinyDisk mounts a file system of a few megabytes.
func tinyDisk(t *testing.T) (dir string) {
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("a disk that is really full needs the right to mount one: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// fill leaves no byte free in a directory's file system, and returns what frees it.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{64 << 10, 4 << 10, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
	_ = f.Close()
	return func() { _ = os.Remove(path) }
}

// writeUntilBroken has members write to their logs until a full disk has failed one
// of those writes: a file with free pages grows late. The writes are long, and refused,
// because they are about an old version.
func writeUntilBroken(t *testing.T, l *raftlog.Log, members ...*grid.Member) {
	t.Helper()
	ctx := testContext(t)
	stale := roster.Command{From: 1, Change: &roster.Change{}}
	for i := range 40 {
		stale.Change.Remove = append(stale.Change.Remove, roster.Incarnation(fmt.Sprint(strings.Repeat("x", 100), i)))
	}
	for {
		for _, m := range members {
			_ = m.Propose(stale) // works if it leads
		}
		select {
		case <-l.Broken():
			return
		case <-ctx.Done():
			t.Fatal("no write has failed")
		case <-time.After(10 * time.Millisecond): // others have work to do as well
		}
	}
}

func TestDiskIsFull(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	for name, leads := range map[string]bool{"leader": true, "follower": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := startDiskGrid(t, tinyDisk(t), tinyDisk(t), tinyDisk(t))
			victim, others := g.roles()
			if !leads {
				victim = others[0]
			}
			free := fill(t, g.cfgs[victim].DataDir)
			writeUntilBroken(t, g.members[victim].Disk(), g.members...)
			g.checkReplaced(victim)
			g.end()
			free()
			g.restart(victim)
		})
	}
}

// TestStartOnAFullDisk: the error of Start names the cause, and Start works with space.
func TestStartOnAFullDisk(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	ctx := testContext(t)
	for _, left := range []int{0, 4 << 10, 12 << 10, 20 << 10, 36 << 10, 44 << 10, 64 << 10} {
		dir := tinyDisk(t)
		room := filepath.Join(dir, "room")
		if err := os.WriteFile(room, make([]byte, left), 0o600); err != nil {
			t.Fatal(err)
		}
		free := fill(t, dir)
		if err := os.Remove(room); err != nil {
			t.Fatal(err)
		}
		cfg := grid.Config{
			GossipAddr: "127.0.0.1:0", RaftAddr: "127.0.0.1:0", APIAddr: "127.0.0.1:0",
			Expect: 1, DataDir: filepath.Join(dir, "data"), Logger: testLogger(),
		}
		m, err := grid.Start(ctx, cfg)
		if m != nil {
			writeUntilBroken(t, m.Disk(), m)
			_ = m.Close()
		} else if !errors.Is(err, sequencer.ErrInvalidConfig) && !errors.Is(err, syscall.ENOSPC) ||
			!strings.Contains(err.Error(), dir) ||
			!strings.Contains(err.Error(), "no space left") ||
			strings.Contains(err.Error(), "user") { // of permissions
			t.Errorf("with %d bytes left: %v", left, err)
		}
		t.Log(left, err)
		free()
		if m, err = grid.Start(ctx, cfg); err != nil {
			t.Errorf("with %d bytes left at first, later more: %v", left, err)
			continue
		}
		_ = m.Close()
	}
}
