package spelling_test

import (
	"testing"

	"github.com/snowgrid/snowgrid/internal/spelling"
)

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 members", 1: "1 member", 2: "2 members"} {
		if got := spelling.Count(n, "member"); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}
