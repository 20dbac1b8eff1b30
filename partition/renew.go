package partition

import (
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// RenewTime bounds the time for which a renewal waits for partitions that cannot reply yet.
const RenewTime = time.Second

// ClaimSet is a holder's whole state in the partition as one fingerprint: the number of its
// handles, and the replies about them.
type ClaimSet struct {
	Count int
	Print attachment.Fingerprint
	Limit Limit // that the holder is under now
	Peer  Peer  // the credential behind the claim
}

// RenewSet extends every grant of a holder's attachments in this partition and
// replies with their end, if the holder's fingerprint of them equals the owner's; else with
// 0. It checks none of them individually.
func (m *Machine) RenewSet(v View, h attachment.HolderID, set ClaimSet, reply func(clustertime.Tick, error)) {
	serve(m, v, func(b Bounds) (clustertime.Tick, dependency, error) {
		// The reply depends on no pending change: all are acknowledged, or it is 0.
		pending := len(m.unacked.names)+len(m.unacked.ids) > 0 || m.unacked.everything != 0
		if len(m.ending) > 0 || pending || !m.sessions.Confirm(h, set, b.Ceiling, v.Mono) {
			return 0, dependency{}, nil
		}
		m.sessions.seenFrom(h, set.Peer)
		m.table.Extend(b)
		return b.Ceiling, dependency{}, nil
	}, replyFunc[clustertime.Tick](reply))
}

// Renewed is the result of one claim.
type Renewed struct {
	Grant attachment.Grant
	Err   error
}

// Renew extends the grants of claims one by one. The reply waits until all of them may be sent.
func (m *Machine) Renew(v View, h attachment.HolderID, claims []Claim, reply func([]Renewed, error)) {
	serve(m, v, func(b Bounds) ([]Renewed, dependency, error) {
		var after uint64
		out := make([]Renewed, len(claims))
		for i, c := range claims {
			grant, err := m.renew(v, b, h, c)
			out[i] = Renewed{grant, err}
			if err != nil {
				after = wholeTable
			} else { // 0 is the table as the term began with it
				after = max(after, m.unacked.names[c.Ref.Definition.Name()], m.unacked.ids[c.ID], m.unacked.everything)
			}
		}
		return out, dependency{number: after}, nil
	}, replyFunc[[]Renewed](reply))
}

func (m *Machine) renew(v View, b Bounds, h attachment.HolderID, c Claim) (attachment.Grant, error) {
	name := c.Ref.Definition.Name()
	c, err := m.judge(v, c)
	if err != nil {
		return attachment.Grant{}, err
	}
	if e := m.ending[name]; e != nil && e.ref.Life == c.Ref.Life {
		// The holder missed the event; this error replaces it, and the holder releases its node.
		return attachment.Grant{}, fmt.Errorf("sequencer %q: %w", name, sequencer.ErrDestroyed)
	}
	if !c.ID.IsZero() {
		if err := m.withinQuota(h, c); err != nil {
			// As if another holder had the node: the granted time stays usable, and the holder attaches again,
			// which returns the limit.
			return attachment.Grant{}, failure.Errorf(sequencer.ErrDetached, "%s; the attachment is not registered again",
				err.Error())
		}
	}
	life := m.table.lifeOf(name)
	var a attachment.Attachment
	var changed bool
	if c.ID.IsZero() {
		changed, err = m.table.Known(c)
	} else {
		a, changed, err = m.table.Renew(c, b)
	}
	if err != nil {
		return attachment.Grant{}, err
	}
	m.took(v, h, c, a, life, changed)
	return a.Grant, nil
}
