package authority_test

import (
	"errors"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/security"
)

// TestGridOfAnAuthority: no certificates are made for a grid that would not be formed.
func TestGridOfAnAuthority(t *testing.T) {
	for name, want := range map[string]error{"größe 1": nil, "a\u202eb": security.ErrInvalid, "a ": security.ErrInvalid,
		"a\nb": security.ErrInvalid} {
		if _, err := authority.NewOf(name, "ca", time.Unix(0, 0), time.Hour); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", name, err, want)
		}
	}
}

// TestNameOfAnAuthority: a name that prints like another one is refused.
func TestNameOfAnAuthority(t *testing.T) {
	for name, want := range map[string]error{"größe 1": nil, "ca\u2800": security.ErrInvalid,
		"ca\ufe0f": security.ErrInvalid, "ca ": security.ErrInvalid} {
		if _, err := authority.NewOf("", name, time.Unix(0, 0), time.Hour); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", name, err, want)
		}
	}
}
