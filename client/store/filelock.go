package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"time"

	"github.com/snowgrid/snowgrid/internal/durable"
	"github.com/snowgrid/snowgrid/internal/signal"
)

// fileLock is the lock of a stripe. It belongs to one open file, so it excludes other
// goroutines as well as other processes, and ends with the process.
type fileLock struct{ file *os.File }

const (
	lockWaitMin = time.Millisecond
	lockWaitMax = 16 * time.Millisecond
)

// lock waits for a stripe's lock until ctx ends.
func (f *File) lock(ctx context.Context, stripe string) (*fileLock, error) {
	for wait := lockWaitMin; ; wait = min(2*wait, lockWaitMax) {
		lock, err := f.tryLock(stripe)
		if lock != nil || err != nil {
			return lock, err
		}
		if !signal.Sleep(ctx, wait/2+rand.N(wait)) {
			return nil, ctx.Err()
		}
	}
}

// tryLock takes the lock of a stripe. It returns nil if another writer has it.
func (f *File) tryLock(stripe string) (*fileLock, error) {
	file, err := f.root.OpenFile(path.Join(locksDir, stripe), os.O_RDWR|os.O_CREATE, 0o660)
	if err != nil {
		return nil, err
	}
	taken, err := durable.TryLock(file)
	if errors.Is(err, errors.ErrUnsupported) {
		err = fmt.Errorf("%w; use etcd, S3 or a database", err)
	}
	if err != nil || !taken {
		_ = file.Close() // Nothing was written.
		return nil, err
	}
	return &fileLock{file}, nil
}

// release ends the lock. A child process that is being started may share the open file
// for a moment, so closing it would not suffice.
func (l *fileLock) release() {
	durable.Unlock(l.file)
	_ = l.file.Close() // Nothing was written.
}
