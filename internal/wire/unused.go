package wire

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// PathUnused lists the sequencers unused for a time, a page at a time, and removes a page's
// sequencers. Any member serves it; owners destroy.
const PathUnused = "/v1/sequencers/unused"

// maxUnusedPage limits a page with unused sequencers: all of them may be destroyed while the caller
// waits.
const maxUnusedPage = 500

// UnusedRequest requests a page with sequencers that have no attached logical nodes and were unused
// for a time.
type UnusedRequest struct {
	Prefix string `json:"prefix,omitempty"` // a name prefix
	After  string `json:"after,omitempty"`  // the page begins with the first name above it
	Limit  int    `json:"limit,omitempty"`  // rows, at most maxUnusedPage; 0 = DefaultPage
	// UnusedFor is the time in milliseconds, at least 1000.
	UnusedFor int64 `json:"unused_for_ms"`
	// Remove destroys the sequencers in the page. Each owner does so only if the sequencer is still
	// unused for the time when its turn comes.
	Remove bool `json:"remove,omitempty"`
	// Names are those to remove that the member owns; of a call that a member forwards.
	Names []string `json:"names,omitempty"`
	Relay
}

// maxUnusedFor is a hundred years.
const maxUnusedFor = 100 * 366 * 24 * time.Hour

// Unused returns the time.
func (r UnusedRequest) Unused() time.Duration { return time.Duration(r.UnusedFor) * time.Millisecond }

// Check refuses a page that no member makes, and fills in the default limit. Errors match
// ErrBadRequest.
func (r *UnusedRequest) Check() error {
	if err := checkRange(r.Prefix, r.After); err != nil {
		return err
	}
	switch {
	case r.UnusedFor < 1000 || r.UnusedFor > maxUnusedFor.Milliseconds():
		return failure.Errorf(ErrBadRequest, "grid: unused_for_ms is %d; give 1000 to %d, such as %d for 30 days",
			r.UnusedFor, maxUnusedFor.Milliseconds(), (30 * 24 * time.Hour).Milliseconds())
	case len(r.Names) > 0 && !r.Forwarded, len(r.Names) > maxUnusedPage:
		return failure.Errorf(ErrBadRequest, "grid: names: %d of them; only members state those, at most %d", len(r.Names),
			maxUnusedPage)
	}
	return checkPage(&r.Limit, maxUnusedPage)
}

// UnusedResponse is a page with unused sequencers, by name.
type UnusedResponse struct {
	Sequencers []UnusedRow `json:"sequencers"`
	// Next is the name to give as After for the next page, "" if there is none.
	Next string `json:"next,omitempty"`
	Coverage
}

// UnusedRow is one unused sequencer.
type UnusedRow struct {
	Name string `json:"name"`
	// UnusedFor is the minimum unused time in milliseconds; an owner without an earlier record counts from
	// its own takeover.
	UnusedFor int64              `json:"unused_for_ms"`
	Owner     roster.Incarnation `json:"owner"`
	Removed   bool               `json:"removed,omitempty"`
	Error     string             `json:"error,omitempty"` // why it was not removed
}
