package sim

import (
	"time"
)

// process is one run of a member or a holder.
type process struct {
	w     *world
	name  string
	place int // its machine: cuts are between places
	alive bool
	until time.Duration // end of its pause
	clock
}

func (w *world) process(name string, place int) process {
	return process{w: w, name: name, place: place, alive: true, clock: clock{w: w, at: w.now}}
}

// after schedules a function at the process. It runs if the process is still alive; a paused
// process runs it on resuming.
func (p *process) after(d time.Duration, do func()) { p.w.after(d, func() { p.do(do) }) }

func (p *process) do(do func()) {
	switch {
	case !p.alive:
	case p.until > p.w.now:
		// Delayed events run in any order when the process resumes.
		p.w.after(p.until-p.w.now+p.w.between(0, time.Millisecond), func() { p.do(do) })
	default:
		do()
	}
}

// every calls a function periodically while the process lives.
func (p *process) every(d time.Duration, do func()) {
	p.after(d, func() {
		do()
		p.every(d, do)
	})
}
