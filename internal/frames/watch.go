package frames

import (
	"errors"
	"fmt"

	"github.com/snowgrid/snowgrid/internal/wire/frame"
)

// watch checks the connection once per period. It counts instead of setting deadlines, so that a
// frame costs none.
func (l *link) watch() {
	err := l.looksDead()
	l.mu.Lock()
	if err == nil && l.err == nil {
		l.timer.Reset(period)
	}
	l.mu.Unlock()
	if err != nil {
		l.end(err)
	}
}

func (l *link) looksDead() error {
	w, read := &l.last, l.frames.Load()
	moved := read != w.frames
	w.frames = read
	if moved || !l.partial.Load() {
		w.stuckRead = 0
	} else if w.stuckRead++; w.stuckRead >= stuckPeriods {
		return errors.New("a frame did not arrive in time")
	}
	if l.writeStuck() {
		return errors.New("the peer does not read")
	}
	begun := l.begun.Load()
	used := begun != w.begun || l.open.Load() > 0
	w.begun = begun
	if used {
		w.unused = 0
	} else if w.unused++; w.unused >= l.idle {
		return errors.New("idle")
	}
	if moved {
		w.silent = 0
		return nil
	}
	if w.silent++; w.silent >= silentPeriods {
		return fmt.Errorf("the peer was silent for %v", silentPeriods*period)
	}
	if used {
		l.offer(frame.Header{Kind: frame.Ping})
	}
	return nil
}

// writeStuck reports whether one write has lasted for too many periods.
func (l *link) writeStuck() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.writing || l.flushes != l.lastFlushes {
		l.stuckWrite = 0
	} else {
		l.stuckWrite++
	}
	l.lastFlushes = l.flushes
	return l.stuckWrite >= stuckPeriods
}
