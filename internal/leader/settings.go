package leader

import (
	"errors"
	"fmt"
	"slices"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/pattern"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// Settings that the members have agreed on change at an operator's request, by one change
// of the roster. The window only grows: what owners have granted lies within the present
// one of cluster time, and a next life of the grid waits for the window that it knows.
// Copies and voters follow in later steps.

const (
	settingsTries   = 10 // proposals of one request, because the roster changed
	settingsPending = 16 // requests at a time
)

// SettingsRequest names new values of settings; nil and 0 leave a setting as it is.
type SettingsRequest struct {
	Backups *int
	Window  clustertime.Span
	Voters  int
	// WindowStated confirms that every member of a grid that keeps nothing on disk is
	// configured with the window: the next life of the grid knows it from there alone.
	WindowStated bool
	// Quotas are edits of rows, by pattern; DropQuotas are the patterns of rows that go.
	Quotas     []roster.QuotaEdit
	DropQuotas []pattern.Pattern
	roster.Upcoming
}

// settingsChange is a request until it is answered.
type settingsChange struct {
	in    SettingsRequest
	reply func(error)
	tries int
	// proposed says that the change that is proposed is this one.
	proposed *roster.Change
}

// SetSettings changes settings. The reply is nil when the roster has the values. Errors:
// [ErrBadRequest] for a value that no grid can have, [ErrNotNow] for a smaller window,
// [ErrNotConfirmed] for a larger one whose members are not said to be configured with it,
// and [ErrUnavailable].
func (l *Leader) SetSettings(v View, in SettingsRequest, reply func(error)) {
	if len(l.settings) >= settingsPending {
		reply(failure.Errorf(ErrUnavailable, "grid: %d changes of settings are in progress; try again", settingsPending))
		return
	}
	l.settings = append(l.settings, &settingsChange{in: in, reply: reply})
	l.proposeSettings(v)
}

// SettingsChange returns the change of the roster that a request needs, an empty one for
// none.
func SettingsChange(r *roster.Roster, in SettingsRequest) (roster.Change, error) {
	var c roster.Change
	if now := r.Settings.Backups; in.Backups != nil && *in.Backups != now {
		if *in.Backups < 0 || *in.Backups > roster.MaxBackups {
			return c, failure.Errorf(ErrBadRequest, "grid: backups=%d: give 0 for none, or 1 to %d", *in.Backups, roster.MaxBackups)
		}
		c.Backups = in.Backups
	}
	if in.Voters != 0 && in.Voters != r.Settings.MostVoters() {
		if in.Voters < 1 || in.Voters > roster.MaxVoters || in.Voters%2 == 0 {
			return c, failure.Errorf(ErrBadRequest, "grid: voters=%d: give 1, 3, 5 or 7", in.Voters)
		}
		c.Voters = in.Voters
	}
	if err := quotasChange(r, in, &c); err != nil {
		return roster.Change{}, err
	}
	c.Upcoming = in.Beyond(r.Settings.Upcoming)
	now := r.Settings.Window
	switch {
	case in.Window == 0 || in.Window == now:
	case in.Window < roster.MinWindow || in.Window > roster.MaxWindow:
		return c, failure.Errorf(ErrBadRequest, "grid: window=%v: give %v to %v", in.Window.Duration(), roster.MinWindow.Duration(), roster.MaxWindow.Duration())
	case in.Window < now:
		return c, failure.Errorf(ErrNotNow, "grid: window=%v: the window of a grid only grows, and it is %v; a smaller one needs a new grid", in.Window.Duration(), now.Duration())
	case !r.KeepsLog && !r.Anchored && !in.WindowStated:
		return c, failure.Errorf(ErrNotConfirmed, "grid: window=%v: this grid has neither disks nor an anchor. When all its members have ended, the next ones know the window from their configuration alone; "+
			"with a smaller one there they begin too early, and IDs can repeat. Put window=%v into the configuration of every member, then confirm with --window-stated", in.Window.Duration(), in.Window.Duration())
	default:
		c.Window = in.Window
	}
	return c, nil
}

// proposeSettings proposes the first request that is due, unless a change is proposed.
func (l *Leader) proposeSettings(v View) {
	for _, s := range slices.Clone(l.settings) {
		if l.changing || s.proposed != nil {
			continue
		}
		c, err := SettingsChange(v.Roster, s.in)
		if err == nil && !l.claims(v.Roster) {
			err = failure.Errorf(ErrNotNow, "grid: the settings were not changed: %w", errUnclaimed)
		}
		if err != nil || c.IsEmpty() {
			l.answerSettings(s, err)
			continue
		}
		command := roster.Command{From: v.Roster.Version, Claim: v.Roster.Claim, Change: &c}
		if err := v.Roster.CheckProtocol(command); err != nil { // the roster's protocol was lowered since
			l.answerSettings(s, failure.Errorf(ErrNotNow, "grid: the settings were not changed: %w", err))
			continue
		}
		if _, err := v.Roster.Apply(command); err != nil { // the grid has stopped, for instance
			l.answerSettings(s, failure.Errorf(ErrNotNow, "grid: the settings were not changed: %w", err))
			continue
		}
		s.proposed = &c
		l.propose(command)
	}
}

// continueSettings takes the outcome of a change, and proposes the next.
func (l *Leader) continueSettings(v View, c roster.Command, err error) {
	i := slices.IndexFunc(l.settings, func(s *settingsChange) bool { return s.proposed != nil && s.proposed == c.Change })
	if i >= 0 {
		switch s := l.settings[i]; {
		case errors.Is(err, roster.ErrStale) && s.tries < settingsTries:
			s.proposed = nil
			s.tries++
		case errors.Is(err, roster.ErrRefused):
			l.answerSettings(s, failure.Errorf(ErrNotNow, "grid: the settings were not changed: %w", err))
		case err != nil:
			l.answerSettings(s, failure.Errorf(ErrUnavailable, "grid: the settings may not have been changed: %w", err))
		default:
			l.answerSettings(s, nil)
		}
	}
	l.proposeSettings(v)
}

// answerSettings answers a request.
func (l *Leader) answerSettings(s *settingsChange, err error) {
	l.settings = slices.DeleteFunc(l.settings, func(other *settingsChange) bool { return other == s })
	s.reply(err)
}

// resignSettings answers the requests that are left. Whether the one that is proposed will
// be agreed on is not known.
func (l *Leader) resignSettings() {
	for _, s := range slices.Clone(l.settings) {
		l.answerSettings(s, errNotLeading)
	}
}

// NewsOfSettings returns the protocol that the roster needs for a request, and the part
// that needs it.
func NewsOfSettings(r *roster.Roster, in SettingsRequest) (roster.Protocol, string, error) {
	c, err := SettingsChange(r, in)
	if err != nil {
		return 0, "", err
	}
	needed, part := roster.Command{Change: &c}.Needs()
	return needed, fmt.Sprintf("settings set: %s", part), nil
}
