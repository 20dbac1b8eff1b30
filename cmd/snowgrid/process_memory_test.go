//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// An agent in a container works within the container's memory.
func TestAgentInACgroup(t *testing.T) {
	t.Setenv(ownCgroup, newCgroup(t, 512<<20))
	a := startAgent(t, "127.0.0.1:0", "--expect", "1")
	const want = `msg="memory limit" bytes=483183820`
	if said := a.stderr.String(); !strings.Contains(said, want) {
		t.Errorf("the agent says\n%s\nwant %s in it", tail(said), want)
	}
	a.signal(syscall.SIGTERM)
	if status := a.exit(); status != 0 {
		t.Errorf("exit status %d", status)
	}
}

// newCgroup makes a control group of a memory limit, and removes it at the end of the test.
func newCgroup(t *testing.T, limit int64) string {
	t.Helper()
	for root, file := range map[string]string{
		"/sys/fs/cgroup":        "memory.max",            // version 2
		"/sys/fs/cgroup/memory": "memory.limit_in_bytes", // version 1
	} {
		dir := filepath.Join(root, fmt.Sprintf("snowgrid-test-%d", os.Getpid()))
		if _, err := os.Stat(filepath.Join(root, "cgroup.procs")); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Skip("needs the right to make a control group:", err)
		}
		t.Cleanup(func() {
			if err := os.Remove(dir); err != nil {
				t.Error(err)
			}
		})
		if err := os.WriteFile(filepath.Join(dir, file), []byte(strconv.FormatInt(limit, 10)), 0); err != nil {
			t.Skip("needs control groups with memory limits:", err)
		}
		return dir
	}
	t.Skip("needs control groups")
	return ""
}
