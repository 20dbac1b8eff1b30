package anchor

import "time"

// Silence measures for how long the holder of a record has not changed it, by its reader's clock.
// Time in which the store did not answer does not count: the holder may not have reached the store either. In
// its zero value nothing was read.
type Silence struct {
	revision    string
	read        bool
	began, last time.Duration // when the revision was first read, later by what does not count; the last answer
	failed      bool          // a request since the last answer
}

// Answered records an answer of the store, with the record's revision.
func (s *Silence) Answered(revision string, now time.Duration) {
	if !s.read || revision != s.revision {
		*s = Silence{revision: revision, read: true, began: now}
	}
	if s.failed {
		s.began += now - s.last
	}
	s.last, s.failed = now, false
}

// Failed records a request without an answer.
func (s *Silence) Failed() { s.failed = true }

// For returns the duration, up to the last answer if a request has failed since, 0 before the first one.
func (s *Silence) For(now time.Duration) time.Duration {
	if !s.read || s.failed {
		now = s.last
	}
	return now - s.began
}
