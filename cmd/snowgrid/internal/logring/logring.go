// Package logring keeps the last log lines in memory, for a debug bundle.
package logring

import (
	"bytes"
	"sync"
)

// lineMax bounds one line; more of it is cut off.
const lineMax = 16 << 10

// Ring keeps the last lines written to it. Each Write call has to be one line, as log/slog handlers
// write them.
type Ring struct {
	mu     sync.Mutex
	limit  int // bytes
	lines  [][]byte
	bytes  int
	missed int // lines that were dropped since the beginning
}

// New returns a ring of at most limit bytes.
func New(limit int) *Ring { return &Ring{limit: limit} }

// Write implements io.Writer; it returns no error.
func (r *Ring) Write(line []byte) (int, error) {
	kept := append([]byte(nil), line[:min(len(line), lineMax, r.limit)]...)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, kept)
	r.bytes += len(kept)
	drop := 0
	for ; r.bytes > r.limit; drop++ {
		r.bytes -= len(r.lines[drop])
		r.lines[drop] = nil
	}
	r.lines = r.lines[drop:]
	r.missed += drop
	return len(line), nil
}

// Text returns the lines that are kept, the oldest first, and how many are no longer.
func (r *Ring) Text() (kept []byte, missed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Join(r.lines, nil), r.missed
}
