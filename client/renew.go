package client

import (
	"context"
	"errors"

	"github.com/snowgrid/snowgrid/clustertime"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/sequencer"
	"github.com/snowgrid/snowgrid/wire"
)

// A renewal names, for each partition, how many handles this client has there and
// their combined print, so its size does not depend on how many there are. Only
// what the owner knows otherwise, after a change of owner or a lost answer, is
// shown handle by handle.

// set is a client's handles of one partition, as it shows them.
type set struct {
	wire.ClaimSet
	entries []*entry
	told    []sequencer.Attachment // what was last answered about each, at the time of asking
	whole   bool                   // the print is of what was answered about all of them
}

// renewAll renews entries at one owner: by one call, and more for what the owner
// knows otherwise.
func (c *Client) renewAll(ctx context.Context, owner string, entries []*entry) {
	unknown, err := c.renewSets(ctx, owner, entries)
	if err != nil {
		c.renewAgain(entries, err)
		return
	}
	for len(unknown) > 0 {
		n := min(len(unknown), claimsPerCall)
		if err := c.renewClaims(ctx, owner, unknown[:n]); err != nil {
			c.renewAgain(unknown, err)
			return
		}
		unknown = unknown[n:]
	}
}

// silentTries is how many renewals in succession may time out before the client asks whether
// there is another owner. One that is only slow answers before that, and one whose machine is
// gone has been replaced by then, long before a grant ends.
const silentTries = 2

// renewAgain has entries renewed soon, by the member that owns them then. It does not wait
// for the directory: a member that hangs must not hold up renewals.
func (c *Client) renewAgain(entries []*entry, err error) {
	c.log.Debug("renewal failed; retrying", "error", err)
	began := c.clock.Mono()
	failures := 0
	for _, e := range entries {
		failures = max(failures, e.renewAgainAt(began, c.window()/8))
	}
	if !timedOut(err) || failures >= silentTries {
		c.refresh(began)
	}
}

// renewSets shows entries by partition, and returns those to be shown by claims.
func (c *Client) renewSets(ctx context.Context, owner string, entries []*entry) (unknown []*entry, err error) {
	if owner == "" {
		return nil, sequencer.ErrUnavailable
	}
	d := c.directory.Load()
	req := wire.RenewRequest{Holder: c.holder, Grid: d.Grid}
	var shown []*set
	for _, s := range setsOf(entries, len(d.Owners)) {
		if s.whole {
			shown = append(shown, s)
			req.Sets = append(req.Sets, s.ClaimSet)
		} else {
			unknown = append(unknown, s.entries...)
		}
	}
	if len(shown) == 0 {
		return unknown, nil
	}
	began := c.clock.Mono()
	var res wire.RenewResponse
	if err := c.tryCall(ctx, owner, wire.PathRenew, req, &res); err != nil {
		return nil, err
	}
	if len(res.Sets) != len(shown) {
		return nil, errors.New("client: the owner answered another number of sets than it was asked")
	}
	c.stamped(res.Stamp, began)
	for i, s := range shown {
		if res.Sets[i] == 0 {
			unknown = append(unknown, s.entries...)
		} else {
			c.extended(s, res.Stamp, res.Sets[i])
		}
	}
	return unknown, nil
}

// setsOf groups entries by partition, in their order.
func setsOf(entries []*entry, partitions int) []*set {
	var out []*set
	byID := map[roster.PartitionID]*set{}
	for _, e := range entries {
		id := roster.PartitionOf(e.control.Handle().Name(), partitions)
		s := byID[id]
		if s == nil {
			s = &set{ClaimSet: wire.ClaimSet{Partition: id}, whole: true}
			byID[id] = s
			out = append(out, s)
		}
		told, print, known := e.answered()
		s.whole = s.whole && known
		s.Count++
		s.Print = s.Print.With(print)
		s.entries, s.told = append(s.entries, e), append(s.told, told)
	}
	return out
}

// extended delivers the new end of a set's grants.
func (c *Client) extended(s *set, stamp wire.Stamp, until clustertime.Tick) {
	for i, e := range s.entries {
		e.saw(stamp)
		if told := s.told[i]; !told.ID.IsZero() {
			g := sequencer.Grant{From: told.Grant.From, Until: until}
			e.control.Renewed(told.ID, g)
			c.hurry(e, g)
		}
	}
}

// renewClaims makes one call that shows entries one by one.
func (c *Client) renewClaims(ctx context.Context, owner string, entries []*entry) error {
	req := wire.RenewRequest{Holder: c.holder}
	shown := make([]sequencer.Attachment, len(entries))
	for i, e := range entries {
		shown[i], _ = e.control.Held()
		req.Claims = append(req.Claims, e.claim(e.control.Ref(), shown[i]))
	}
	began := c.clock.Mono()
	var res wire.RenewResponse
	if err := c.tryCall(ctx, owner, wire.PathRenew, req, &res); err != nil {
		return err
	}
	if len(res.Results) != len(entries) {
		return errors.New("client: the owner answered another number of claims than it was asked")
	}
	c.stamped(res.Stamp, began)
	var failed []*entry
	var last error
	for i, e := range entries {
		if err := c.renewed(e, shown[i], res.Stamp, res.Results[i]); err != nil {
			failed, last = append(failed, e), err
		}
	}
	if len(failed) > 0 {
		c.renewAgain(failed, last)
	}
	return nil
}

// renewed delivers the answer to one claim; an error asks for another try.
func (c *Client) renewed(e *entry, shown sequencer.Attachment, stamp wire.Stamp, res wire.RenewResult) error {
	err := res.Error.Unwire()
	switch {
	case err == nil:
		e.saw(stamp)
		if !shown.ID.IsZero() {
			e.told(sequencer.Attachment{ID: shown.ID, Node: shown.Node, Grant: res.Grant})
			e.control.Renewed(shown.ID, res.Grant)
			c.hurry(e, res.Grant)
		}
	case errors.Is(err, sequencer.ErrDestroyed), errors.Is(err, sequencer.ErrConflict):
		c.log.Info("sequencer has ended", "sequencer", e.control.Handle().Name(), "reason", err)
		c.ended(e.control.Handle().Name(), e.control.Ref().Life)
	case errors.Is(err, sequencer.ErrDetached):
		c.replace(e, shown.ID)
	default:
		return err
	}
	return nil
}

// hurry renews a grant again soon that does not reach as far ahead as it should.
func (c *Client) hurry(e *entry, g sequencer.Grant) {
	now := c.clock.Now()
	if g.From > now || g.Until.Sub(now) < clustertime.SpanOf(c.window()/2) {
		e.renewAt(c.clock.Mono() + retryAfter)
	}
}
