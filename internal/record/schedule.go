package record

import "time"

const (
	retryFirst   = 300 * time.Millisecond
	retryMost    = 8 * time.Second
	acquireFirst = time.Second
)

// RenewAfter returns the interval between renewals: a third of the window, less up to a fifth of
// that, so that holders do not renew in step. random returns a random duration from 0 to below its
// argument.
func RenewAfter(window time.Duration, random func(time.Duration) time.Duration) time.Duration {
	third := window / 3
	return third - random(third/5+1)
}

// RetryAfter returns the pause after the n-th consecutive failed request for one record, from 1 on:
// 300 ms, doubling, up to an eighth of the window and 8 s.
func RetryAfter(n int, window time.Duration) time.Duration {
	return min(doubled(retryFirst, n), window/8, retryMost)
}

// AcquireAfter returns the pause after the n-th consecutive round in which no record could be
// taken, from 1 on: 1 s, doubling, up to limit, less up to a quarter of that.
func AcquireAfter(n int, limit time.Duration, random func(time.Duration) time.Duration) time.Duration {
	pause := min(doubled(acquireFirst, n), limit)
	return pause - random(pause/4+1)
}

// doubled returns d doubled n-1 times, at most 12 times.
func doubled(d time.Duration, n int) time.Duration { return d << min(max(n-1, 0), 12) }
