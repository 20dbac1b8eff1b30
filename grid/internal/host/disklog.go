package host

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/signal"
)

// Partitions collect their definitions by the hundred, and wait for the same few disks.
// The log has one line for all of it, now and then.
const (
	diskLogEvery = time.Second
	// awaitedAfter is the delay before an awaited disk is logged, long enough for members that start
	// together. awaitedAgain is the interval of repetitions.
	awaitedAfter = 5 * time.Second
	awaitedAgain = 30 * time.Second
)

const awaitedAdvice = "creates, opens and destroys in these partitions wait for the definitions on one of these " +
	"disks: start these members again with their data directories, or reconnect those without; a disk that is gone for " +
	"good, or a member without a disk that has ended, is given up with `snowgrid forget MEMBER`"

// diskLog collects the log messages of collections. Its zero value is ready.
type diskLog struct {
	mu        sync.Mutex
	running   bool
	collected map[roster.MemberID]tally
	awaited   map[roster.MemberID]*awaitedDisk
	warned    time.Duration // by the monotonic clock; 0: not since something was awaited
}

type tally struct{ partitions, names int }

type awaitedDisk struct {
	since, last time.Duration
	partitions  map[roster.PartitionID]bool
	cause       error
}

// noteAwaited records a failed read of a partition's disk, and reports whether the caller must start
// logging.
func (l *diskLog) noteAwaited(from roster.MemberID, id roster.PartitionID, cause error,
	now time.Duration) (begin bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.awaited == nil {
		l.awaited = map[roster.MemberID]*awaitedDisk{}
	}
	a := l.awaited[from]
	if a == nil {
		a = &awaitedDisk{since: now, partitions: map[roster.PartitionID]bool{}}
		l.awaited[from] = a
	}
	a.last, a.cause, a.partitions[id] = now, cause, true
	return l.begin()
}

// noteCollected records that a disk delivered a partition's definitions; the partition then awaits no
// other disk.
func (l *diskLog) noteCollected(from roster.MemberID, id roster.PartitionID, names int) (begin bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.collected == nil {
		l.collected = map[roster.MemberID]tally{}
	}
	t := l.collected[from]
	l.collected[from] = tally{t.partitions + 1, t.names + names}
	for _, a := range l.awaited {
		delete(a.partitions, id)
	}
	return l.begin()
}

func (l *diskLog) begin() bool {
	begin := !l.running
	l.running = true
	return begin
}

func (l *diskLog) write(log *slog.Logger, now time.Duration) (more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, from := range slices.Sorted(maps.Keys(l.collected)) {
		t := l.collected[from]
		log.Info("definitions collected", "from", string(from), "partitions", t.partitions, "names", t.names)
	}
	clear(l.collected)
	var members []string
	partitions, cause := map[roster.PartitionID]bool{}, error(nil)
	for _, from := range slices.Sorted(maps.Keys(l.awaited)) {
		a := l.awaited[from]
		if len(a.partitions) == 0 || now-a.last > awaitedAfter {
			delete(l.awaited, from)
			continue
		}
		if now-a.since >= awaitedAfter {
			members, cause = append(members, string(from)), a.cause
			maps.Copy(partitions, a.partitions)
		}
	}
	if len(members) > 0 && (l.warned == 0 || now-l.warned >= awaitedAgain) {
		l.warned = now
		log.Warn("disk awaited", "members", members, "partitions", len(partitions), "cause", cause, "to_do", awaitedAdvice)
	}
	l.running = len(l.awaited) > 0
	if !l.running {
		l.warned = 0
	}
	return l.running
}

// diskWatch logs the disks that definitions are collected from.
type diskWatch struct {
	*deps
	diskLog diskLog
}

// watchAwaited notes the disks that the partitions of this member wait for because
// their members do not run, until ctx ends: every second while there are any.
func (w *diskWatch) watchAwaited(ctx context.Context) {
	for known := (*roster.Roster)(nil); ctx.Err() == nil; {
		changed := w.state.Changed()
		r, awaits := w.state.Roster(), false
		if known == nil || r.Version != known.Version || r.Grid != known.Grid {
			signal.Sleep(ctx, diskLogEvery)
			awaits = w.noteAwaited()
		}
		if awaits {
			continue
		}
		known = r
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

func (w *diskWatch) noteAwaited() (awaits bool) {
	r, now, begin := w.state.Roster(), w.clock.Mono(), false
	for _, id := range r.Owned(w.self) {
		for _, from := range r.Awaited(id) {
			begin = w.diskLog.noteAwaited(from, id, errNotRunning, now) || begin
			awaits = true
		}
	}
	if begin {
		w.life.Background(w.logDisks)
	}
	return awaits
}

// logDisks logs the results of this member's collections, until none is awaited.
func (w *diskWatch) logDisks(ctx context.Context) {
	for more := true; more && ctx.Err() == nil; {
		signal.Sleep(ctx, diskLogEvery)
		more = w.diskLog.write(w.log, w.clock.Mono())
	}
}
