//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/verify"
)

var verifyRows = flag.Int("verify-rows", 300_000,
	"rows of the table that snowgrid verify checks; from 10 million on it is timed next to sort -u")

// verifyMemory is the bound of the process's resident memory, for any number of rows.
const verifyMemory = 1 << 30

// TestVerifyTable: one duplicate, one future and one foreign row of a large table are found with their lines.
func TestVerifyTable(t *testing.T) {
	table := filepath.Join(t.TempDir(), "ids.txt")
	rows := *verifyRows
	want := writeTable(t, table, rows)
	checked := exec.Command(os.Args[0], "verify", table, "-o", "json", "--temp-dir", t.TempDir())
	checked.Env = append(os.Environ(), runsCommand+"=1")
	if _, err := checked.StdinPipe(); err != nil { // the command ends with it
		t.Fatal(err)
	}
	began := time.Now()
	out, err := checked.Output()
	took := time.Since(began)
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != exitDegraded {
		t.Fatalf("%v: %s", err, out)
	}
	var result verified
	if err := json.Unmarshal(out, &result); err != nil {
		t.Fatal(err)
	}
	got := map[verify.Kind]uint64{}
	for _, f := range result.Findings {
		got[f.Kind] = f.Line
		if result.Problems[f.Kind] != 1 {
			t.Errorf("%d findings of the kind %s", result.Problems[f.Kind], f.Kind)
		}
	}
	for kind, line := range want {
		if got[kind] != line {
			t.Errorf("%s: line %d, not %d", kind, got[kind], line)
		}
	}
	usage := checked.ProcessState.SysUsage().(*syscall.Rusage)
	if memory := usage.Maxrss << 10; memory > verifyMemory {
		t.Errorf("%d MiB of memory for %d rows", memory>>20, rows)
	}
	t.Logf("%d rows: %.1f s, %d MiB", rows, took.Seconds(), usage.Maxrss>>10)
	if rows >= 10_000_000 {
		sorted := exec.Command("sort", "-u", "-S", "1G", "-T", t.TempDir(), "-o", os.DevNull, table)
		sorted.Env = append(os.Environ(), "LC_ALL=C")
		began = time.Now()
		if err := sorted.Run(); err != nil {
			t.Fatal(err)
		}
		alone := time.Since(began)
		t.Logf("sort -u: %.1f s, %.1f times as long", alone.Seconds(), alone.Seconds()/took.Seconds())
	}
}

// writeTable writes IDs of 16 nodes in the order of their making, with three faults, and returns the faults' lines.
func writeTable(t *testing.T, name string, rows int) map[verify.Kind]uint64 {
	t.Helper()
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewWriterSize(file, 1<<20)
	duplicate, future, foreign := rows/3, rows/2, rows/4*3
	var text []byte
	for i := range rows {
		ms, node, counter := 20_000_000_000+int64(i/1600), int64(i%16), int64(i/16%100)
		id := ms<<23 | node<<10 | counter
		switch i {
		case duplicate:
			id = (ms-10)<<23 | 3<<10 | 5
		case future:
			id = int64(600_000_000_000) << 23
		case foreign:
			text = append(text[:0], "018f6a2e-7b1c-7000-8000-000000000000\n"...)
			_, _ = out.Write(text)
			continue
		}
		text = append(strconv.AppendInt(text[:0], id, 10), '\n')
		_, _ = out.Write(text)
	}
	if err := errors.Join(out.Flush(), file.Close()); err != nil {
		t.Fatal(fmt.Errorf("the table: %w", err))
	}
	return map[verify.Kind]uint64{verify.Duplicate: uint64(duplicate + 1), verify.Future: uint64(future + 1),
		verify.NotAnID: uint64(foreign + 1), verify.Backwards: uint64(duplicate + 1)}
}
