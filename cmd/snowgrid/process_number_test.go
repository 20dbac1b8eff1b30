//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/identity"
	"github.com/snowgrid/snowgrid/internal/long"
)

// number runs `snowgrid number` for a directory.
func number(t *testing.T, api, dir string) int {
	t.Helper()
	status, out, errs := command(t, "number", "--set", "web", "--cluster", "shop", "--data-dir", dir, "--addr", api,
		"--timeout", "30s")
	n, err := strconv.Atoi(strings.TrimSuffix(out, "\n"))
	if status != exitDone || err != nil {
		t.Errorf("snowgrid number: status %d, printed %q, said %q", status, out, errs)
	}
	return n
}

// TestNumberCommand: ten processes at the same time get 1 to 10, each directory keeps its
// number, and the next directory gets the next one.
func TestNumberCommand(t *testing.T) {
	t.Parallel()
	a := startAgent(t, "127.0.0.1:0", "--expect", "1")
	dirs, got := make([]string, 10), make([]int, 10)
	var all sync.WaitGroup
	for i := range dirs {
		dirs[i] = filepath.Join(t.TempDir(), "made")
		all.Go(func() { got[i] = number(t, a.api, dirs[i]) })
	}
	all.Wait()
	sorted := slices.Sorted(slices.Values(got))
	if !slices.Equal(sorted, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}) {
		t.Fatalf("ten at the same time: %v", sorted)
	}
	for _, i := range []int{7, 2} {
		if again := number(t, a.api, dirs[i]); again != got[i] {
			t.Errorf("directory %d: %d, and %d before", i, again, got[i])
		}
	}
	if n := number(t, a.api, t.TempDir()); n != 11 {
		t.Errorf("the next directory: %d", n)
	}

	written := filepath.Join(t.TempDir(), "ordinal")
	status, out, errs := command(t, "number", "--set", "web", "--cluster", "shop", "--data-dir", dirs[0], "--addr", a.api,
		"--write", written)
	if text, err := os.ReadFile(written); status != exitDone || err != nil || string(text) != out {
		t.Errorf("--write: status %d, wrote %q, %v; printed %q, said %q", status, text, err, out, errs)
	}
	before := metaOf(t, dirs[0])
	status, out, errs = command(t, "number", "--set", "api", "--cluster", "shop", "--data-dir", dirs[0], "--addr", a.api)
	if status != exitFailed || out != "" || !strings.Contains(errs, `set "web" of cluster "shop"`) ||
		strings.Count(errs, "\n") != 1 {
		t.Errorf("another set: status %d, printed %q, said %q", status, out, errs)
	}
	if after := metaOf(t, dirs[0]); after != before {
		t.Errorf("the file of another set has changed to %q", after)
	}
}

// metaOf returns the file of a directory's number.
func metaOf(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, identity.NumberFile))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// crashPoints are the points in the order of a first start, with the files that a process
// killed there leaves, and whether the number is its own by then.
var crashPoints = []struct {
	at          identity.CrashPoint
	temp, final bool
	own         bool
}{
	{at: identity.BeforeApplication},
	{at: identity.AfterApplication, temp: true},
	{at: identity.AfterApply, temp: true, own: true},
	{at: identity.BeforeRename, temp: true, own: true},
	{at: identity.AfterNumber, temp: true, final: true, own: true},
	{at: identity.BeforeRegister, final: true, own: true},
}

// crashesAt is the variable with the crash point at which a process blocks.
const crashesAt = "TEST_CRASH_POINT"

// blockAtCrashPoint has this process print a message and block at the crash point that the
// environment names.
func blockAtCrashPoint() {
	at := identity.CrashPoint(os.Getenv(crashesAt))
	identity.AtCrashPoint = func(p identity.CrashPoint) {
		if p == at {
			fmt.Fprintf(os.Stderr, "crash point %s reached\n", p)
			select {} // until the test kills the process
		}
	}
}

// killAt runs the command until it has reached a crash point, and kills it there.
func killAt(t *testing.T, point identity.CrashPoint, args ...string) {
	t.Helper()
	p := startIn(t, []string{crashesAt + "=" + string(point)}, func(io.Reader) {}, args...)
	await(t, fmt.Sprintf("%v at %s", args, point), func() bool {
		select {
		case <-p.ended:
			t.Fatalf("%v has ended before %s: %s", args, point, p.stderr.String())
		default:
		}
		return strings.Contains(p.stderr.String(), "crash point "+string(point)+" reached")
	})
	_ = p.cmd.Process.Kill() // SIGKILL
	<-p.ended
}

// exists reports whether a directory has a file.
func exists(dir, file string) bool {
	_, err := os.Stat(filepath.Join(dir, file))
	return !errors.Is(err, fs.ErrNotExist)
}

// TestKilledAtEachPoint: a process that is killed at any point of its registration uses up no
// number, and has the number that was given to it; also if others register before it is
// started again. TestNoNumberIsLost of internal/identity shows it of the machine.
func TestKilledAtEachPoint(t *testing.T) {
	long.Only(t, "it starts dozens of processes")
	t.Run("client", testClientKilled)
	t.Run("member", testMemberKilled)
}

func testClientKilled(t *testing.T) {
	a := startAgent(t, "127.0.0.1:0", "--expect", "1")
	next := 1
	for _, p := range crashPoints {
		dir := t.TempDir()
		killAt(t, p.at, "number", "--set", "web", "--cluster", "shop", "--data-dir", dir, "--addr", a.api)
		if temp, final := exists(dir, identity.ApplicationFile), exists(dir, identity.NumberFile); temp != p.temp ||
			final != p.final {
			t.Errorf("killed at %s: application there %v, number there %v", p.at, temp, final)
		}
		want := map[string]int{dir: next, t.TempDir(): next + 1}
		if !p.own {
			want[dir] = next + 1
		}
		for other, n := range want {
			if other != dir {
				if !p.own {
					n = next
				}
				if got := number(t, a.api, other); got != n {
					t.Errorf("after a kill at %s another process has %d, want %d", p.at, got, n)
				}
			}
		}
		for range 2 {
			if got := number(t, a.api, dir); got != want[dir] {
				t.Errorf("killed at %s and started again: %d, want %d", p.at, got, want[dir])
			}
		}
		if exists(dir, identity.ApplicationFile) || !exists(dir, identity.NumberFile) {
			t.Errorf("killed at %s and started again: application there %v, number there %v", p.at,
				exists(dir, identity.ApplicationFile), exists(dir, identity.NumberFile))
		}
		next += 2
	}
}

// testMemberKilled tests a member, whose number is in the file of its identity.
func testMemberKilled(t *testing.T) {
	for _, p := range crashPoints {
		t.Run(string(p.at), func(t *testing.T) {
			t.Parallel()
			s := &seat{dir: t.TempDir()}
			s.move(t)
			args := []string{
				"agent", "--gossip-addr", s.gossip, "--raft-addr", s.raft, "--api-addr", s.api, "--data-dir", s.dir,
				"--expect", "1", "--partitions", "8", "--identity-set", "ids", "--identity-cluster", "shop",
			}
			killAt(t, p.at, args...)
			if temp := exists(s.dir, identity.ApplicationFile); temp != p.temp {
				t.Errorf("application there: %v", temp)
			}
			if has := strings.Contains(metaOf(t, s.dir), `"number"`); has != p.final {
				t.Errorf("number in the identity: %v", has)
			}
			member := start(t, func(r io.Reader) { _, _ = io.Copy(io.Discard, r) }, args...)
			info := awaitNumber(t, s.api)
			if info.ID != 1 || info.Cluster != "shop" || exists(s.dir, identity.ApplicationFile) {
				t.Errorf("started again: %+v, application there: %v", info, exists(s.dir, identity.ApplicationFile))
			}
			member.signal(os.Interrupt)
			_ = member.exit()
		})
	}
}

// awaitNumber waits until the member at an address is registered.
func awaitNumber(t *testing.T, api string) (info grid.IdentityInfo) {
	t.Helper()
	awaitStatus(t, api, func(s grid.Status) string {
		if s.Identity == nil || s.Identity.State != "REGISTERED" {
			return fmt.Sprintf("registration %+v", s.Identity)
		}
		info = *s.Identity
		return ""
	})
	return info
}
