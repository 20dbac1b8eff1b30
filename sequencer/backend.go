package sequencer

import (
	"context"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// Backend is the system that assigns logical nodes to a handle. A grid is one
// backend; any system that keeps such a table consistently can be another. Renewals and events flow
// in the other direction, through Control.
type Backend interface {
	// Attach requests a logical node, preferably p's node unless p.Any is set.
	Attach(ctx context.Context, r Ref, p Preference) (Attachment, error)
	// Detach releases an attachment. It is final: after an error the backend
	// retries by itself, or lets the attachment expire.
	Detach(ctx context.Context, r Ref, rel Release) error
	// Destroy ends this life of the sequencer everywhere.
	Destroy(ctx context.Context, r Ref) error
}

// Clock returns the cluster time of the backend's process.
type Clock interface {
	// Now returns the cluster time in Unix milliseconds, 0 while unknown. It
	// may step back; IDs ascend all the same.
	Now() clustertime.Tick
	// Read returns the same, with the minimum time for which it remains current by the monotonic
	// clock, and the monotonic clock's reading, mono. If lasts is 0, every ID needs another
	// reading; otherwise the cycle counter, whose rate follows from mono, covers the IDs in
	// between.
	Read() (now clustertime.Tick, lasts, mono time.Duration)
	// Wait returns nil when cluster time has reached until or wake is closed,
	// and ctx's error when ctx ended first.
	Wait(ctx context.Context, until clustertime.Tick, wake <-chan struct{}) error
}

// Birth orders the lives of a name: the term of the owner that created the life, and the
// operation's number in that term. A later life has a larger birth.
type Birth struct {
	Term   uint64 `json:"term"`
	Number uint64 `json:"number"`
}

// Compare returns -1, 0 or 1 as b is before, equal to or after o.
func (b Birth) Compare(o Birth) int {
	switch {
	case b == o:
		return 0
	case b.Term < o.Term || (b.Term == o.Term && b.Number < o.Number):
		return -1
	}
	return 1
}

// Ref identifies one life of one sequencer.
type Ref struct {
	Definition Definition
	Life       Life
	Born       Birth
}

// Preference is the logical node that an attach requests first.
type Preference struct {
	Node NodeID
	Any  bool // no preference
}

// Attachment is a logical node assigned by the backend, with its first grant.
type Attachment struct {
	ID    AttachmentID
	Node  NodeID
	Grant Grant
}

// Release is a holder's last message about an attachment, under which it issues no further IDs.
type Release struct {
	ID       AttachmentID
	Node     NodeID
	LastUsed clustertime.Tick // largest timestamp used; 0 = none
}
