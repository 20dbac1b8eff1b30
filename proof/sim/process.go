package sim

import (
	"time"
)

// process is one start of a member or of a holder.
type process struct {
	w     *world
	name  string
	place int // its machine: what cuts are about
	alive bool
	until time.Duration // it is paused until then
	clock
}

func (w *world) process(name string, place int) process {
	return process{w: w, name: name, place: place, alive: true, clock: clock{w: w, at: w.now}}
}

// after has something done by the process, if it is still there, and not while it
// is paused.
func (p *process) after(d time.Duration, do func()) { p.w.after(d, func() { p.do(do) }) }

func (p *process) do(do func()) {
	switch {
	case !p.alive:
	case p.until > p.w.now:
		// Events that waited happen in any order when the process resumes.
		p.w.after(p.until-p.w.now+p.w.between(0, time.Millisecond), func() { p.do(do) })
	default:
		do()
	}
}

// every has something done again and again, for as long as the process lives.
func (p *process) every(d time.Duration, do func()) {
	p.after(d, func() {
		do()
		p.every(d, do)
	})
}
