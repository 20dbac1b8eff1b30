//go:build nextrelease

package formation

import (
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestNewSettingsNeedTheirRelease: a member of the release before does not count among
// those that form a grid with a setting that it does not know.
func TestNewSettingsNeedTheirRelease(t *testing.T) {
	usual := roster.Settings{Name: "g", Partitions: 1, Window: roster.DefaultWindow}
	noted := usual
	noted.Note = "x"
	for _, c := range []struct {
		settings roster.Settings
		release  roster.Release
		can      bool
	}{{usual, roster.Release{}, true}, {noted, roster.Release{}, false}, {noted, wire.OwnRelease(), true}, {usual,
		roster.Release{Min: -1}, false}} {
		err := canForm(c.settings, c.release)
		if (err == nil) != c.can {
			t.Errorf("%+v and %s: %v", c.settings, c.release, err)
		}
		if want := "and the note needs protocol 2; upgrade it"; c.settings.Note != "" && !c.can &&
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
