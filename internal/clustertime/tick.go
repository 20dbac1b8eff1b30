package clustertime

import (
	"errors"
	"time"
)

// Tick is an instant in Unix milliseconds, as is every instant in the protocol. It is cluster time
// unless a comment states otherwise.
type Tick int64

// Latest is the last tick that a roster may contain: the end of the year 9999. It is so far below
// the limit of int64 that adding a window cannot overflow.
const Latest Tick = 253_402_300_799_999

// TickOf converts a time to a tick, rounded down to a millisecond.
func TickOf(t time.Time) Tick { return Tick(t.UnixMilli()) }

// Time returns the tick as a time in UTC.
func (t Tick) Time() time.Time { return time.UnixMilli(int64(t)).UTC() }

// TimeOrZero returns the tick as a time in UTC, the zero time for 0.
func (t Tick) TimeOrZero() time.Time {
	if t == 0 {
		return time.Time{}
	}
	return t.Time()
}

// Add returns the tick that is s later.
func (t Tick) Add(s Span) Tick { return t + Tick(s) }

// Sub returns the span from u to t.
func (t Tick) Sub(u Tick) Span { return Span(t - u) }

// Span is the distance between two ticks in milliseconds.
type Span int64

// SpanOf returns a duration in milliseconds, rounded towards 0.
func SpanOf(d time.Duration) Span { return Span(d.Milliseconds()) }

// Duration returns the span as a duration.
func (s Span) Duration() time.Duration { return time.Duration(s) * time.Millisecond }

// ErrClock means that a wall clock cannot be right.
var ErrClock = errors.New("wall clock is wrong")
