package sim

import (
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// largestWindow bounds the windows set by operators, so that calls still end during the quiet.
const largestWindow clustertime.Span = 40_000

// setSettings changes the number of backups, the window or both, as an operator would. If
// necessary, it raises the roster's protocol first, as members do.
func (nm *nemesis) setSettings() bool {
	m := nm.g.agreed.leader
	if m == nil || m.lead == nil {
		return false
	}
	in := leader.SettingsRequest{WindowStated: true}
	if nm.g.w.chance(0.7) {
		backups := nm.g.w.rng.IntN(4)
		in.Backups = &backups
	}
	if now := nm.g.agreed.newest().Settings.Window; in.Backups == nil || nm.g.w.chance(0.3) {
		in.Window = min(now+now/2, largestWindow)
		nm.g.cfg.Window = max(nm.g.cfg.Window, in.Window)
	}
	nm.change(m.lead, in)
	return true
}

// setVoters changes the number of voters, as an operator would.
func (nm *nemesis) setVoters() bool {
	m := nm.g.agreed.leader
	if m == nil || m.lead == nil {
		return false
	}
	nm.change(m.lead, leader.SettingsRequest{Voters: 1 + 2*nm.g.w.rng.IntN(4)})
	return true
}

// change sends a leader a settings change, after the protocol change that it needs.
func (nm *nemesis) change(l *lead, in leader.SettingsRequest) {
	m := l.m
	change := func() {
		l.do(func(machine *leader.Leader, v leader.View) { machine.SetSettings(v, in, func(error) {}) })
	}
	m.do(func() {
		l.do(func(machine *leader.Leader, v leader.View) {
			needed, part, err := leader.NewsOfSettings(v.Roster, in)
			switch {
			case err != nil: // a larger window has been agreed on in between
			case needed <= roster.Protocol1:
				m.after(0, change)
			default:
				machine.Need(v, needed, part, func(err error) {
					if err == nil {
						m.after(0, change)
					}
				})
			}
		})
	})
}
