package partition

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// released remembers released attachments for a window. A renewal or attach that was sent before
// the release and arrives after it would attach the node again, and no holder would use or renew it
// until its session had ended.
type released map[sequencer.AttachmentID]time.Duration

// releasedMax limits the remembered attachments; beyond it such a node is unused for a
// window.
const releasedMax = 16384

// note remembers an attachment that is given back.
func (r released) note(id sequencer.AttachmentID, now time.Duration) {
	if len(r) < releasedMax {
		r[id] = now
	}
}

// refuse returns ErrDetached for an attachment that was given back.
func (r released) refuse(name string, id sequencer.AttachmentID) error {
	if _, gone := r[id]; !gone {
		return nil
	}
	return failure.Errorf(sequencer.ErrDetached, "sequencer %q: the attachment was given back; attach again", name)
}

// forget drops attachments that no message can still present.
func (r released) forget(now, window time.Duration) {
	for id, at := range r {
		if now-at > window {
			delete(r, id)
		}
	}
}
