package librarylog

import (
	"sync"
	"time"
)

// sparseEvery is the interval of a repeated warning.
const sparseEvery = 10 * time.Second

// Sparse decides when a warning that others can cause is logged: the first immediately,
// later ones every sparseEvery. Its zero value is ready.
type Sparse struct {
	mu      sync.Mutex // guards the fields below
	next    time.Duration
	skipped int
}

// Due reports whether to log at now, a monotonic clock's time, and how many warnings
// were not logged since the last that was.
func (s *Sparse) Due(now time.Duration) (skipped int, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now < s.next {
		s.skipped++
		return 0, false
	}
	skipped = s.skipped
	s.next, s.skipped = now+sparseEvery, 0
	return skipped, true
}
