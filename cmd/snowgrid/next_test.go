//go:build unix

package main

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

// slow is a sequencer that has one ID at each of some times.
type slow []time.Duration

// Fill implements filler.
func (s *slow) Fill(ctx context.Context, dst []sequencer.ID) (n int, err error) {
	for n < len(dst) && len(*s) > 0 {
		select {
		case <-ctx.Done():
			return n, ctx.Err()
		case <-time.After((*s)[0]):
			dst[n], *s = sequencer.ID(len(*s)), (*s)[1:]
			n++
		}
	}
	return n, nil
}

// TestImpatience: a command waits for its first ID as long as the limit, since its start, and each
// time after that while any ID comes within the limit.
func TestImpatience(t *testing.T) {
	for _, test := range []struct {
		ids   slow
		count int64
		want  int64
		took  time.Duration
	}{
		{slow{4 * time.Second}, 1, 1, 4 * time.Second},
		{slow{6 * time.Second}, 1, 0, 5 * time.Second},
		{slow{time.Second, 3 * time.Second, 3 * time.Second, 3 * time.Second}, 4, 4, 13 * time.Second},
		{slow{time.Second, 12 * time.Second}, 2, 1, 10 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			first, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			var out strings.Builder
			printed, err := printIDs(t.Context(), asText(&out),
				&impatient{filler: &test.ids, first: first, limit: 5 * time.Second}, test.count)
			took := time.Since(began)
			if printed != test.want || (err == nil) != (test.want == test.count) ||
				err != nil && !errors.Is(err, context.DeadlineExceeded) || took > test.took {
				t.Errorf("%v: printed %d after %v, %v", test, printed, took, err)
			}
		})
	}
}

// TestNextBeforeIDsBegin: next ends in time, and says when IDs begin and why, as do status and status
// --check.
func TestNextBeforeIDsBegin(t *testing.T) {
	t.Parallel()
	a := startAgent(t, "127.0.0.1:0", "--expect", "1", "--window", "60s", "--data-dir=")
	began := time.Now()
	status, _, stderr := command(t, "next", "orders", "--addr", a.api, "--timeout", "1s", "--nodes", "128")
	took := time.Since(began)
	if status != exitFailed || !strings.Contains(stderr, "IDs begin at ") || strings.Contains(stderr, "reachable") ||
		took > 10*time.Second {
		t.Errorf("next: status %d after %v, %s", status, took, stderr)
	}
	if _, stdout, _ := command(t, "status", "--addr", a.api); !strings.Contains(stdout, "IDs begin ") ||
		!strings.Contains(stdout, "without data directories") {
		t.Errorf("status:\n%s", stdout)
	}
	if status, stdout, _ := command(t, "status", "--check", "--addr", a.api); status != exitDegraded ||
		!strings.Contains(stdout, "ids_begin_later: IDs begin at ") {
		t.Errorf("status --check: status %d\n%s", status, stdout)
	}
	a.signal(syscall.SIGTERM)
	a.exit()
}
