package wire_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestReleaseHeader: what one process states another reads, and anything else is an error.
func TestReleaseHeader(t *testing.T) {
	for _, r := range []roster.Release{wire.OwnRelease(), {Min: 1, Max: 255, Build: "v1 of a fork"}, {Min: 2, Max: 2}} {
		if got, err := wire.ParseRelease(wire.FormatRelease(r)); err != nil || got != r {
			t.Errorf("%+v became %+v, %v", r, got, err)
		}
	}
	if r, err := wire.ParseRelease(""); err != nil || r != (roster.Release{}) {
		t.Errorf("no header: %+v, %v", r, err)
	}
	for _, text := range []string{"1", "0-2 x", "2-1 x", "1-256 x", "a-b c", " 1-2", "1-2 a\nb",
		"1-2 " + strings.Repeat("x", roster.MaxBuild+1)} {
		if r, err := wire.ParseRelease(text); !errors.Is(err, wire.ErrBadRequest) {
			t.Errorf("%q: %+v, %v", text, r, err)
		}
	}
}

// TestReleaseOfTheOtherSide: it is refused without a protocol in common, by an error
// that names both.
func TestReleaseOfTheOtherSide(t *testing.T) {
	for text, refused := range map[string]bool{"": false, "1-1 v1": false, "1-9 v9": false, "8-9 v9": true,
		"garbage": false} {
		h := http.Header{}
		h.Set(wire.HeaderRelease, text)
		err := wire.CheckRelease(h)
		if errors.Is(err, wire.ErrProtocol) != refused || (err != nil) != refused {
			t.Errorf("%q: %v", text, err)
		}
		if refused && (!strings.Contains(err.Error(), wire.OwnRelease().String()) ||
			!strings.Contains(err.Error(), "snowgrid v9 (protocols 8 to 9)")) {
			t.Errorf("the error does not name both: %v", err)
		}
	}
	h := http.Header{}
	if wire.SetRelease(h); h.Get(wire.HeaderRelease) != wire.FormatRelease(wire.OwnRelease()) {
		t.Errorf("the own header is %q", h)
	}
}
