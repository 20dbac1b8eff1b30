package leader

import (
	"errors"
	"fmt"
	"slices"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/spelling"
)

// An operator's request changes the agreed settings by one change of the roster. The window only
// grows: all grants of owners end within the present window of cluster time, and the next run of the
// grid waits for the window in its configuration. Backups and voters follow in later steps.

const (
	settingsTries   = 10 // proposals of one request, because the roster changed
	settingsPending = 16 // requests at a time
)

// SettingsRequest names new values of settings; nil and 0 leave a setting as it is.
type SettingsRequest struct {
	Backups *int
	Window  clustertime.Span
	Voters  int
	Expect  int
	// WindowStated confirms that every member of a memory-only grid is configured with the
	// window: the next run of the grid has no other source for it.
	WindowStated bool
	// Quotas are edits of rows, by pattern. DropQuotas are the patterns of the rows to remove.
	Quotas     []roster.QuotaEdit
	DropQuotas []spelling.Pattern
	roster.Upcoming

	removed   bool // an operator has removed a member
	remaining int  // members without it
}

// settingsChange is a request without an answer.
type settingsChange struct {
	in       SettingsRequest
	reply    func(error)
	tries    int
	proposed *roster.Change // its change, if that is the proposed one
}

// settingsChanges changes settings at an operator's request.
type settingsChanges struct {
	claimant *anchoring
	changes  *changes

	open []*settingsChange
}

// request records a request and proposes it, if no other change is proposed.
func (x *settingsChanges) request(v View, in SettingsRequest, reply func(error)) {
	if len(x.open) >= settingsPending {
		reply(failure.Errorf(ErrUnavailable, "grid: %d changes of settings are in progress; try again", settingsPending))
		return
	}
	x.open = append(x.open, &settingsChange{in: in, reply: reply})
	x.propose(v)
}

// SettingsChange returns the change of the roster for a request. It is empty if there is nothing
// to change.
func SettingsChange(r *roster.Roster, in SettingsRequest) (roster.Change, error) {
	var c roster.Change
	if now := r.Settings.Backups; in.Backups != nil && *in.Backups != now {
		if *in.Backups < 0 || *in.Backups > roster.MaxBackups {
			return c, failure.Errorf(ErrBadRequest, "grid: backups=%d: give 0 for none, or 1 to %d", *in.Backups,
				roster.MaxBackups)
		}
		c.Backups = in.Backups
	}
	if in.Voters != 0 && in.Voters != r.Settings.MostVoters() {
		if in.Voters < 1 || in.Voters > roster.MaxVoters || in.Voters%2 == 0 {
			return c, failure.Errorf(ErrBadRequest, "grid: voters=%d: give 1, 3, 5 or 7", in.Voters)
		}
		c.Voters = in.Voters
	}
	if in.Expect != 0 && in.Expect != r.Settings.Expect {
		if in.Expect < 1 || in.Expect > roster.MaxExpect {
			return c, failure.Errorf(ErrBadRequest, "grid: expect=%d: give 1 to %d", in.Expect, roster.MaxExpect)
		}
		c.Expect = in.Expect
	}
	if in.removed {
		c.Expect = expectWithout(r.Settings.Expect, in.remaining)
	}
	if err := quotasChange(r, in, &c); err != nil {
		return roster.Change{}, err
	}
	c.Upcoming = in.Beyond(r.Settings.Upcoming)
	now := r.Settings.Window
	switch {
	case in.Window == 0 || in.Window == now:
	case in.Window < roster.MinWindow || in.Window > roster.MaxWindow:
		return c, failure.Errorf(ErrBadRequest, "grid: window=%v: give %v to %v", in.Window.Duration(),
			roster.MinWindow.Duration(), roster.MaxWindow.Duration())
	case in.Window < now:
		return c, failure.Errorf(ErrNotNow, "grid: window=%v: the window of a grid only grows, and it is %v; a smaller one "+
			"needs a new grid", in.Window.Duration(), now.Duration())
	case !r.KeepsLog && !r.Anchored && !in.WindowStated:
		return c, failure.Errorf(ErrNotConfirmed, "grid: window=%v: this grid has neither disks nor an anchor. When all "+
			"its members have ended, the next ones know the window from their configuration alone; "+
			"with a smaller one there they begin too early, and IDs can repeat. Put window=%v into the configuration of every "+
			"member, then confirm with --window-stated", in.Window.Duration(), in.Window.Duration())
	default:
		c.Window = in.Window
	}
	return c, nil
}

// expectWithout returns the expected number of members after a removal, 0 to leave it: one less,
// unless another member has replaced the removed one.
func expectWithout(expect, remaining int) int {
	if remaining >= expect || expect < 2 {
		return 0
	}
	return expect - 1
}

// propose proposes the first request that is due, unless a change is proposed.
func (x *settingsChanges) propose(v View) {
	for _, s := range slices.Clone(x.open) {
		if x.changes.pending || s.proposed != nil {
			continue
		}
		c, err := SettingsChange(v.Roster, s.in)
		if err == nil && !x.claimant.claims(v.Roster) {
			err = failure.Errorf(ErrNotNow, "grid: the settings were not changed: %w", errUnclaimed)
		}
		if err != nil || c.IsEmpty() {
			x.answer(s, err)
			continue
		}
		command := roster.Command{From: v.Roster.Version, Claim: v.Roster.Claim, Change: &c}
		if err := v.Roster.CheckProtocol(command); err != nil { // the protocol was lowered since
			x.answer(s, failure.Errorf(ErrNotNow, "grid: the settings were not changed: %w", err))
			continue
		}
		if _, err := v.Roster.Apply(command); err != nil { // the grid has stopped, for instance
			x.answer(s, failure.Errorf(ErrNotNow, "grid: the settings were not changed: %w", err))
			continue
		}
		s.proposed = &c
		x.changes.propose(command)
	}
}

// proposed records the outcome of a change, and proposes the next.
func (x *settingsChanges) proposed(v View, c roster.Command, err error) {
	i := slices.IndexFunc(x.open, func(s *settingsChange) bool { return s.proposed != nil && s.proposed == c.Change })
	if i >= 0 {
		switch s := x.open[i]; {
		case errors.Is(err, roster.ErrStale) && s.tries < settingsTries:
			s.proposed = nil
			s.tries++
		case errors.Is(err, roster.ErrRefused):
			x.answer(s, failure.Errorf(ErrNotNow, "grid: the settings were not changed: %w", err))
		case err != nil:
			x.answer(s, failure.Errorf(ErrUnavailable, "grid: the settings may not have been changed: %w", err))
		default:
			x.answer(s, nil)
		}
	}
	x.propose(v)
}

func (x *settingsChanges) answer(s *settingsChange, err error) {
	x.open = slices.DeleteFunc(x.open, func(other *settingsChange) bool { return other == s })
	s.reply(err)
}

// NewsOfSettings returns the protocol that a request needs, and the part that needs it.
func NewsOfSettings(r *roster.Roster, in SettingsRequest) (roster.Protocol, string, error) {
	c, err := SettingsChange(r, in)
	if err != nil {
		return 0, "", err
	}
	needed, part := roster.Command{Change: &c}.Needs()
	return needed, fmt.Sprintf("settings set: %s", part), nil
}
