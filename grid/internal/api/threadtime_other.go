//go:build !linux

package api

import "time"

// stretch is a part of a goroutine that computes.
type stretch struct{ since time.Time }

func beginStretch() *stretch { return &stretch{time.Now()} }

// end ends a stretch, and returns the elapsed time: thread CPU time is available on Linux only.
func (s *stretch) end() time.Duration { return time.Since(s.since) }
