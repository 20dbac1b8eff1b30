// Package bridge connects package sequencer, which has the handles, to package attachment, by which a
// backend makes and controls them. Handles are made by backends alone, so package sequencer exports no
// function for that: it sets [Sequencer], and package attachment reads it. Every other package uses
// package attachment.
//
// Package sequencer imports this package, so its types are parameters here: N is sequencer.NodeID, D
// its Definition, S its Sequencer and T its Striped.
package bridge

import (
	"context"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// Sequencer holds the [Handles] of package sequencer.
var Sequencer any

// MaxStripes is the largest number of logical nodes in one Striped.
const MaxStripes = 64

// Handles are the functions of package sequencer for backends. Package attachment documents them.
type Handles[D, S, T any, N ~uint16] struct {
	New          func(def D, life Life, backend Backend[N], clock Clock) (*S, Control[N])
	NewStriped   func(stripes []*S, leave func(context.Context) error) (*T, error)
	CheckNew     func(def D, now clustertime.Tick) error
	CheckStripes func(def D, n int) error
}

// Attachment is a logical node assigned by the backend, with its first grant.
type Attachment[N ~uint16] struct {
	ID    ID
	Node  N
	Grant Grant
}

// Preference is the logical node that an attach requests first.
type Preference[N ~uint16] struct {
	Node N
	Any  bool // no preference
}

// Release is a holder's last message about an attachment, under which it issues no further IDs.
type Release[N ~uint16] struct {
	ID       ID
	Node     N
	LastUsed clustertime.Tick // largest timestamp used; 0 = none
}

// Backend is the backend of one handle: attachment.Backend, with the life that the handle is on.
type Backend[N ~uint16] interface {
	Attach(ctx context.Context, p Preference[N]) (Attachment[N], error)
	Detach(ctx context.Context, rel Release[N]) error
	Destroy(ctx context.Context) error
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

// Control is the backend's side of a handle: it delivers renewals and events of the grid, and reads
// the state that the grid needs.
type Control[N ~uint16] interface {
	// Held returns the current attachment with its newest grant, false if none.
	Held() (Attachment[N], bool)
	// Renewed adds a grant to the attachment id. It does nothing if the handle has another attachment
	// or none: replies for a released attachment are ignored.
	Renewed(id ID, g Grant)
	// Refuse records cause as the reason why the attachment id is not renewed: once its grants have
	// ended, calls return cause in place of waiting. A later grant clears it.
	Refuse(id ID, cause error)
	// NotRenewed records cause as the error of the last attempt to renew the attachment id. Calls wait
	// for a grant nevertheless, and name cause if their contexts end first. A later grant clears it.
	NotRenewed(id ID, cause error)
	// Destroy ends the handle because its life has ended. It returns the handle's release,
	// false if it had no logical node.
	Destroy() (Release[N], bool)
	// Close ends the handle because its member or client was closed. It returns the handle's
	// release, false if it had no logical node.
	Close() (Release[N], bool)
	// Fence ends the handle because another process has replaced this one: its calls return cause,
	// which matches ErrFenced. It returns the handle's release, false if it had no logical node.
	Fence(cause error) (Release[N], bool)
	// Idle reports whether DetachWhenIdle requires a detach at cluster time now.
	Idle(now clustertime.Tick) bool
	// LastUsed returns the largest timestamp taken under the attachment id, 0 if none was, or
	// if the handle holds another attachment or none.
	LastUsed(id ID) clustertime.Tick
	// Detaches reports whether DetachWhenIdle is set.
	Detaches() bool
	// DetachIdle releases the logical node; Next attaches again by itself.
	DetachIdle(ctx context.Context) error
	// Lost reports whether the handle still needs a logical node to replace attachment id, whose node
	// the grid gave to another holder.
	Lost(id ID) bool
	// Replace tries once to get an attachment in place of id, whose logical node the grid gave to
	// another holder. The grants of id stay usable until the new attachment is installed. After a
	// failure, Next returns the reason.
	Replace(ctx context.Context, id ID) error
	// ReplaceAtEnd is Replace for a backend that renews attachments before a handle has them: the new
	// attachment replaces id when its own grant has begun, or the grants of id have ended. Until then,
	// or until ctx ends, the handle uses up the grants of id.
	ReplaceAtEnd(ctx context.Context, id ID) error
	// Lapse detaches the handle if its attachment is id, whose logical node the grid has given to
	// another holder, and all grants of id have ended. It returns the end of the last grant, or false
	// if id is not the handle's attachment.
	Lapse(id ID) (until clustertime.Tick, held bool)
}
