package roster

import (
	"cmp"
	"fmt"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/spelling"
)

// Bounds and defaults for the settings. The partition count is bounded because the roster is sent
// and copied as a whole.
const (
	DefaultPartitions = 271
	MaxPartitions     = 8191

	DefaultBackups = 1
	MaxBackups     = 32767

	DefaultVoters = 3
	MaxVoters     = 7

	MaxExpect = 1000

	// LoneWindow is the window, in milliseconds, for a member started without configuration. Its
	// only holders end with it, so a short window costs nothing and allows an early restart.
	LoneWindow clustertime.Span = 3_000
	// DefaultWindow is the window for every other grid, in milliseconds.
	DefaultWindow clustertime.Span = 15_000
	MinWindow     clustertime.Span = 1_000
	MaxWindow     clustertime.Span = 3_600_000
	// RaisesPerWindow counts the raises of the ceiling by a leader in a window.
	RaisesPerWindow = 10

	// UnsetBackups means in [Settings.Differs] that no number of backups is stated; 0 states that
	// there are none.
	UnsetBackups = -1
)

// Settings are common to all members and are fixed when the grid is formed. Later the numbers of
// backups and voters can change, and the window, which only grows.
type Settings struct {
	Name       string `json:"name"`       // the grid's name: 1 to 255 bytes of UTF-8 without control characters
	Partitions int    `json:"partitions"` // 1 to MaxPartitions
	Backups    int    `json:"backups"`    // copies in addition to the owner's: 0 (none) to MaxBackups
	// the distance from cluster time to the ceiling: MinWindow to MaxWindow
	Window clustertime.Span `json:"window_ms"`
	// Voters is the number of voting members if there are enough: 1, 3, 5 or 7; 0 is DefaultVoters.
	// See [Settings.MostVoters].
	Voters int `json:"voters,omitempty"`
	// Expect is the expected number of running members, at most MaxExpect; 0 if it was never
	// stated. Initially it is the number that formed the grid; it changes when an operator sets it
	// or removes a member. A member that joins, stops or fails does not change it. The status warns
	// while there are fewer members.
	Expect int `json:"expect,omitempty"`
	Upcoming
}

// MostVoters returns the number of voting members if there are enough.
func (s Settings) MostVoters() int { return cmp.Or(s.Voters, DefaultVoters) }

// StoredVoters returns a number of voters as settings store it: 0 for the default.
func StoredVoters(n int) int {
	if n == DefaultVoters {
		return 0
	}
	return n
}

// IsVoters reports whether n is a valid number of voters: 1, 3, 5, 7, or 0.
func IsVoters(n int) bool { return n == 0 || n >= 1 && n <= MaxVoters && n%2 == 1 }

// votersFault describes the error in a number of voters, "" for none.
func votersFault(n int) string {
	if IsVoters(n) {
		return ""
	}
	return fmt.Sprintf("voters is %d, must be 1, 3, 5 or 7", n)
}

// Check returns the first error in the settings, as an [ErrInvalid].
func (s Settings) Check() error {
	if fault := s.fault(); fault != "" {
		return fmt.Errorf("%w: %s", ErrInvalid, fault)
	}
	return nil
}

// fault describes the error in the settings, "" for none.
func (s Settings) fault() string {
	switch {
	case s.Name == "" || !spelling.IsPlain(s.Name):
		return fmt.Sprintf("grid name %.40q must be 1 to %d bytes of UTF-8 without control characters", s.Name,
			spelling.MaxPlain)
	case s.Partitions < 1 || s.Partitions > MaxPartitions:
		return outOfBounds("partitions", int64(s.Partitions), 1, MaxPartitions)
	case s.Backups < 0 || s.Backups > MaxBackups:
		return outOfBounds("backups", int64(s.Backups), 0, MaxBackups)
	case s.Window < MinWindow || s.Window > MaxWindow:
		return outOfBounds("window in ms", int64(s.Window), int64(MinWindow), int64(MaxWindow))
	case s.Expect < 0 || s.Expect > MaxExpect:
		return outOfBounds("expect", int64(s.Expect), 0, MaxExpect)
	}
	return votersFault(s.Voters)
}

// Differs compares the grid's settings with the settings a member was started with. A zero field in
// stated, or [UnsetBackups], is unset and agrees with anything. The [ErrDiffers] names the first
// stated setting that differs, with both values.
func (s Settings) Differs(stated Settings) error {
	switch {
	case stated.Name != "" && stated.Name != s.Name:
		return differs("name", fmt.Sprintf("%q", s.Name), fmt.Sprintf("%q", stated.Name))
	case stated.Partitions != 0 && stated.Partitions != s.Partitions:
		return differs("partitions", fmt.Sprint(s.Partitions), fmt.Sprint(stated.Partitions))
	case stated.Backups != UnsetBackups && stated.Backups != s.Backups:
		return changeable(differs("backups", countOrNone(s.Backups), countOrNone(stated.Backups)),
			fmt.Sprintf("backups=%d", stated.Backups))
	case stated.Window != 0 && stated.Window != s.Window:
		err := differs("window", s.Window.Duration().String(), stated.Window.Duration().String())
		if stated.Window < s.Window { // it only grows
			return err
		}
		return changeable(err, "window="+stated.Window.Duration().String())
	case stated.Voters != 0 && stated.Voters != s.MostVoters():
		return changeable(differs("voters", fmt.Sprint(s.MostVoters()), fmt.Sprint(stated.Voters)),
			fmt.Sprintf("voters=%d", stated.Voters))
	}
	return nil
}

func outOfBounds(setting string, value, low, high int64) string {
	return fmt.Sprintf("%s is %d, must be %d to %d", setting, value, low, high)
}

func differs(setting, grid, stated string) error {
	return fmt.Errorf("%w: %s is %s in the grid and %s here; drop the setting, or state the grid's value",
		ErrDiffers, setting, grid, stated)
}

// changeable appends the command that sets the grid to the stated value.
func changeable(err error, assignment string) error {
	return fmt.Errorf("%w, or change the grid with `snowgrid settings set %s`", err, assignment)
}

// countOrNone formats a number of backups.
func countOrNone(n int) string {
	if n == 0 {
		return "0 (none)"
	}
	return fmt.Sprint(n)
}
