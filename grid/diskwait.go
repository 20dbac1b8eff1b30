package grid

import (
	"context"
	"errors"
	"time"

	"github.com/snowgrid/snowgrid/internal/bounded"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// The operating system cannot cancel a call of a disk that hangs. Start, Leave and Close end nevertheless.

// openWithin is open until ctx ends. After an error it closes the member: in a goroutine if a disk hangs, when that
// answers.
func openWithin(ctx context.Context, m *Member) error {
	opened := make(chan struct{})
	_, err := bounded.Do(ctx, new(bounded.Calls), "open "+m.cfg.DataDir, func(context.Context) (struct{}, error) {
		defer close(opened)
		return struct{}{}, m.open()
	})
	if err == nil {
		return nil
	}
	select {
	case <-opened:
		return errors.Join(err, m.Close())
	default:
	}
	go func() {
		<-opened
		_ = m.Close()
	}()
	return failure.Errorf(sequencer.ErrUnavailable, "grid: %w", err)
}

// closeDataDir waits for this member's goroutines and closes the files.
func closeDataDir(m *Member) error {
	m.life.Wait()
	m.identity.Nodes.Close()
	var failed []error
	if m.definitions != nil {
		failed = append(failed, m.definitions.Close())
	}
	if m.stores.Close != nil {
		failed = append(failed, m.stores.Close())
	}
	return errors.Join(failed...)
}

const (
	diskLimit = 5 * time.Second // bounds the wait of Close for a disk
	diskLeast = time.Second     // the wait of Leave, although its context has ended
)

// diskWait bounds the wait for calls that a hanging disk may keep from returning. They continue without it.
type diskWait struct {
	ctx   context.Context
	calls bounded.Calls
	dir   string // "" without a disk, so without a bound
	hangs bool
}

// newDiskWait returns a wait of diskLimit at most, which ends earlier with patience, but not before diskLeast.
func newDiskWait(patience context.Context, dir string) (*diskWait, context.CancelFunc) {
	limit := diskLimit
	least := time.Now().Add(diskLeast)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	stop := context.AfterFunc(patience, func() { time.AfterFunc(time.Until(least), cancel) })
	return &diskWait{ctx: ctx, dir: dir}, func() {
		stop()
		cancel()
	}
}

// wait waits for one call. The first that hangs has an error, and the ones behind it have none of their own.
func (w *diskWait) wait(f func() error) error {
	if w.dir == "" {
		return f()
	}
	_, err := bounded.Do(w.ctx, &w.calls, "close", func(context.Context) (struct{}, error) { return struct{}{}, f() })
	switch {
	case !errors.Is(err, bounded.ErrHangs):
		return err
	case w.hangs:
		return nil
	}
	w.hangs = true
	return failure.Errorf(sequencer.ErrUnavailable,
		"grid: data directory %s cannot be closed: %w; it is locked until the disk answers or this process ends",
		w.dir, bounded.ErrHangs)
}
