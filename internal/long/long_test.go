package long_test

import (
	"flag"
	"strconv"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/long"
)

// recorder is a test that keeps what it is skipped with.
type recorder struct {
	testing.TB
	skipped string
}

func (r *recorder) Helper()      {}
func (r *recorder) Name() string { return "TestIt/case" }
func (r *recorder) Skipf(format string, args ...any) {
	r.skipped = strings.NewReplacer("%s", "?").Replace(format)
	for _, arg := range args {
		r.skipped = strings.Replace(r.skipped, "?", arg.(string), 1)
	}
}

// TestOnly: a skip prints the command that runs the test.
func TestOnly(t *testing.T) {
	was := long.Enabled()
	set := func(to bool) {
		if err := flag.Set("long", strconv.FormatBool(to)); err != nil {
			t.Fatal(err)
		}
	}
	defer set(was)
	set(false)
	r := &recorder{}
	long.Only(r, "it takes an hour")
	if want := "it takes an hour: run it with go test ./internal/long -run '^TestIt/case$' -long"; r.skipped != want {
		t.Errorf("skipped with %q, want %q", r.skipped, want)
	}
	if got := long.Or(1, 2); got != 1 {
		t.Errorf("without -long: %d", got)
	}
	set(true)
	r = &recorder{}
	if long.Only(r, "it takes an hour"); r.skipped != "" || long.Or(1, 2) != 2 {
		t.Errorf("with -long: skipped with %q, %d", r.skipped, long.Or(1, 2))
	}
}
