package spelling_test

import (
	"testing"

	"github.com/snowgrid/snowgrid/internal/spelling"
)

func TestCountOf(t *testing.T) {
	for _, c := range []struct {
		n, all int
		want   string
	}{{0, 1, "0 of 1 voter is"}, {1, 1, "1 of 1 voter is"}, {1, 3, "1 of 3 voters is"}, {0, 3, "0 of 3 voters are"},
		{2, 3, "2 of 3 voters are"}} {
		if got := spelling.CountOf(c.n, c.all, "voter"); got != c.want {
			t.Errorf("CountOf(%d, %d) = %q, want %q", c.n, c.all, got, c.want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 members", 1: "1 member", 2: "2 members"} {
		if got := spelling.Count(n, "member"); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}
