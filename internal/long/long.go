// Package long divides the work of tests into what each go test does, what it does with
// -long only, and what it leaves out with -short. The test program of every package that imports it has that flag.
package long

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

var enabled = flag.Bool("long", false, "run the long tests too, and the others in their long forms")

// Enabled reports whether -long was given.
func Enabled() bool { return *enabled }

// Or returns the long form of a value with -long, and the usual one without it.
func Or[T any](usual, long T) T {
	if *enabled {
		return long
	}
	return usual
}

// Only skips a test without -long, and prints the reason and the command that runs it.
func Only(t testing.TB, reason string) {
	t.Helper()
	if !*enabled {
		t.Skipf("%s: run it with go test ./%s -run '^%s$' -long", reason, folder(), t.Name())
	}
}

// NotShort skips a test with -short, and prints the reason.
func NotShort(t testing.TB, reason string) {
	t.Helper()
	if testing.Short() {
		t.Skipf("%s: run it without -short", reason)
	}
}

// Parallel lets n tests run at the same time unless -parallel was given, for packages whose
// tests wait more than they compute. TestMain calls it after flag.Parse.
func Parallel(n int) {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(n)) // the number is one
	}
}

// folder returns the working directory, which is that of the tested package, as a path
// inside the module.
func folder() string {
	dir, err := os.Getwd()
	if err != nil {
		return "..."
	}
	for root := dir; root != filepath.Dir(root); root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			if inside, err := filepath.Rel(root, dir); err == nil {
				return filepath.ToSlash(inside)
			}
		}
	}
	return "..."
}
