package roster

import (
	"errors"
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
		{Settings{}, "backups is 1 in the grid and 0 (none) here"},
		{Settings{Window: 5_000, Backups: 1}, "window is 15s in the grid and 5s here"},
		{Settings{Partitions: 53, Window: 5_000}, "partitions is"},
	} {
		err := sound.Differs(c.stated)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%+v: %v", c.stated, err)
		case c.want != "" && (!errors.Is(err, ErrDiffers) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%+v: %v, want %q", c.stated, err, c.want)
		}
	}
}
