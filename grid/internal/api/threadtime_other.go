//go:build !linux

package api

import "time"

type stretch struct{ since time.Time }

func beginStretch() *stretch { return &stretch{time.Now()} }

// end returns the time that passed, as the threads' own time is known on Linux only.
func (s *stretch) end() time.Duration { return time.Since(s.since) }
