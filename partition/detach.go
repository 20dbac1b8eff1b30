package partition

import (
	"errors"
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Detach takes a logical node back (O3). h is "" if no handle is left, as for a generator over HTTP.
func (m *Machine) Detach(v View, h attachment.HolderID, ref attachment.Ref, rel attachment.Release, reply func(error)) {
	serve(m, v, func(Bounds) (struct{}, dependency, error) {
		m.detach(v, h, ref, rel)
		return struct{}{}, onTable, nil
	}, errorFunc(reply))
}

func (m *Machine) detach(v View, h attachment.HolderID, ref attachment.Ref, rel attachment.Release) {
	name := ref.Definition.Name()
	// A holder that shows nothing else has no handle at this owner: its random ID would be kept for a window.
	handle := h != "" && m.sessions.holders[h] != nil && m.table.lifeOf(name) == ref.Life
	// A later owner counts from here how long the name is unused. The node's next grant begins no earlier anyway.
	rel.LastUsed = max(rel.LastUsed, v.Bounds().Now-1)
	if m.table.Detach(ref, rel) {
		handle = h != ""
		m.changed(name, rel.ID)
		if len(m.released) < releasedMax {
			m.released[rel.ID] = v.Mono
		}
		m.table.use(name, v.Mono)
	}
	limit := m.sessions.LimitOf(h)
	m.sessions.Drop(name, rel.ID)
	switch {
	case m.ending[name] != nil:
		m.endIfSilent(name, v.Mono)
	case handle:
		m.show(v, h, Claim{Ref: ref, Limit: limit}, attachment.Attachment{}) // the handle is still there, Detached
	}
}

// released remembers released attachments for a window. A renewal or attach that was sent before
// the release and arrives after it would attach the node again, and no holder would use or renew it
// until its session had ended.
type released map[attachment.ID]time.Duration

// releasedMax limits the remembered attachments; beyond it such a node is unused for a
// window.
const releasedMax = 16384

// ErrReleased is returned for an attachment that was given back. It matches sequencer.ErrDetached.
var ErrReleased = fmt.Errorf("partition: the attachment was given back: %w", sequencer.ErrDetached)

// LostNode reports whether a renewal failed because another holder may have the logical node, so that its
// holder may attach another. An attachment that was given back is not replaced.
func LostNode(renewal error) bool {
	return errors.Is(renewal, sequencer.ErrDetached) && !errors.Is(renewal, ErrReleased)
}
