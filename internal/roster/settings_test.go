package roster

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

var sound = Settings{Name: "snowgrid", Partitions: DefaultPartitions, Backups: DefaultBackups, Window: DefaultWindow}

func TestSettingsCheck(t *testing.T) {
	for _, c := range []struct {
		edit  func(*Settings)
		fault string // in the message; "" for none
	}{
		{func(*Settings) {}, ""},
		{func(s *Settings) { s.Name = "" }, "name"},
		{func(s *Settings) { s.Name = strings.Repeat("x", 255) }, ""},
		{func(s *Settings) { s.Name = strings.Repeat("x", 256) }, "name"},
		{func(s *Settings) { s.Name = "a\nb" }, "name"},
		{func(s *Settings) { s.Name = "a\xffb" }, "name"},
		{func(s *Settings) { s.Name = "gründe 1" }, ""},
		{func(s *Settings) { s.Partitions = 0 }, "partitions"},
		{func(s *Settings) { s.Partitions = 1 }, ""},
		{func(s *Settings) { s.Partitions = MaxPartitions }, ""},
		{func(s *Settings) { s.Partitions = MaxPartitions + 1 }, "partitions"},
		{func(s *Settings) { s.Backups = UnsetBackups }, "backups"},
		{func(s *Settings) { s.Backups = 0 }, ""},
		{func(s *Settings) { s.Backups = MaxBackups }, ""},
		{func(s *Settings) { s.Backups = MaxBackups + 1 }, "backups"},
		{func(s *Settings) { s.Voters = 7 }, ""},
		{func(s *Settings) { s.Voters = -1 }, "voters"},
		{func(s *Settings) { s.Voters = 4 }, "voters is 4, must be 1, 3, 5 or 7"},
		{func(s *Settings) { s.Voters = 9 }, "voters"},
		{func(s *Settings) { s.Expect = 1 }, ""},
		{func(s *Settings) { s.Expect = MaxExpect }, ""},
		{func(s *Settings) { s.Expect = -1 }, "expect is -1, must be 0 to 1000"},
		{func(s *Settings) { s.Expect = MaxExpect + 1 }, "expect"},
		{func(s *Settings) { s.Window = 999 }, "window"},
		{func(s *Settings) { s.Window = 1000 }, ""},
		{func(s *Settings) { s.Window = 3_600_000 }, ""},
		{func(s *Settings) { s.Window = 3_600_001 }, "window"},
	} {
		s := sound
		c.edit(&s)
		err := s.Check()
		switch {
		case c.fault == "" && err != nil:
			t.Errorf("%+v: %v", s, err)
		case c.fault != "" && (!errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.fault)):
			t.Errorf("%+v: %v, want a fault of %s", s, err, c.fault)
		}
	}
}

func TestSettingsDiffers(t *testing.T) {
	for _, c := range []struct {
		stated Settings
		want   string // in the message; "" for none
	}{
		{Settings{Backups: UnsetBackups}, ""},
		{sound, ""},
		{Settings{Name: "other", Backups: UnsetBackups}, `name is "snowgrid" in the grid and "other" here; drop the setting`},
		{Settings{Partitions: 53, Backups: UnsetBackups}, "partitions is 271 in the grid and 53 here"},
		{Settings{}, "backups is 1 in the grid and 0 (none) here; drop the setting, or state the grid's value, or change " +
			"the grid with `snowgrid settings set backups=0`"},
		{Settings{Window: 30_000, Backups: 1}, "window is 15s in the grid and 30s here; drop the setting, or state the " +
			"grid's value, or change the grid with `snowgrid settings set window=30s`"},
		{Settings{Window: 5_000, Backups: 1},
			"window is 15s in the grid and 5s here; drop the setting, or state the grid's value"},
		{Settings{Partitions: 53, Window: 5_000}, "partitions is"},
		{Settings{Backups: UnsetBackups, Voters: 3}, ""},
		{Settings{Backups: UnsetBackups, Expect: 5}, ""}, // a member may state any number
		{Settings{Backups: UnsetBackups, Voters: 5}, "voters is 3 in the grid and 5 here; drop the setting, or state the " +
			"grid's value, or change the grid with `snowgrid settings set voters=5`"},
	} {
		err := sound.Differs(c.stated)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%+v: %v", c.stated, err)
		case c.want != "" && (!errors.Is(err, ErrDiffers) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%+v: %v, want %q", c.stated, err, c.want)
		case c.stated.Window == 5_000 && strings.Contains(err.Error(), "settings set"):
			t.Errorf("%+v: %v names a command that is refused", c.stated, err)
		}
	}
}

// TestBackupsChange: the number of backups changes, the members and partitions stay as they are, and refusals change
// nothing.
func TestBackupsChange(t *testing.T) {
	r := formedWith(t, sound)
	for what, c := range map[string]struct {
		r       *Roster
		backups int
		want    string
	}{
		"negative": {r, -1, "backups -1 must be 0 to 32767"},
		"too many": {r, MaxBackups + 1, "backups 32768 must be 0 to 32767"},
		"the same": {r, 1, "differ from the grid's, 1"},
	} {
		if next, err := c.r.Apply(Command{From: c.r.Version, Change: &Change{Backups: &c.backups}}); !errors.Is(err,
			ErrRefused) || next != c.r || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
	for _, backups := range []int{0, 2, MaxBackups} {
		next := mustChange(t, r, Change{Backups: &backups})
		want := *r
		want.Version, want.Settings.Backups = r.Version+1, backups
		if !reflect.DeepEqual(*next, want) {
			t.Errorf("%d backups: %+v, want %+v", backups, next, want)
		}
	}
}

// formedWith returns a grid without members.
func formedWith(t *testing.T, s Settings) *Roster {
	t.Helper()
	r, err := new(Roster).Apply(Command{Form: &Form{Grid: GridID{1}, Settings: s}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustChange(t *testing.T, r *Roster, c Change) *Roster {
	t.Helper()
	next, err := r.Apply(Command{From: r.Version, Change: &c})
	if err != nil {
		t.Fatal(err)
	}
	return next
}
