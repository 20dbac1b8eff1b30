package grid

import (
	"errors"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/audit"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// reportStep logs the failure of a leader's step, which is repeated. It logs nothing at the end of
// the lead or of the member.
func (o *leadership) reportStep(step string, err error) {
	ended := errors.Is(err, refusal.ErrNotLeader) || errors.Is(err, raft.ErrRaftShutdown)
	if err != nil && !ended && !errors.Is(err, roster.ErrStale) {
		o.log.Warn("leader step failed; retrying", "step", step, "error", err)
	}
}

// reportReset logs that a run of the grid begins under its own anchor claim.
func (o *leadership) reportReset(c *roster.Reset, err error) {
	if err != nil {
		o.reportStep("begin under the anchor", err)
		return
	}
	o.log.Info("anchor taken: grants begin above all earlier grants under it", "claim", string(c.Claim), "limit_found",
		c.Found.Time(),
		"ceiling", o.state.Roster().Ceiling.Time())
}

func (o *leadership) reportChange(r *roster.Roster, c *roster.Change, err error) {
	if err != nil {
		o.reportStep("change the roster", err)
		return
	}
	for _, member := range c.Join {
		o.audit.Write(audit.Entry{Action: audit.Join, Name: o.gossip.Describe(member.Incarnation), Who: member.API})
		o.log.Info("member joined", "joined", o.gossip.Describe(member.Incarnation), "api", member.API)
	}
	for _, inc := range c.Remove {
		e := o.removals.take(inc, "leader "+o.gossip.Describe(o.self))
		e.Name = o.gossip.Describe(inc)
		o.audit.Write(e)
		o.log.Info("member removed", "removed", o.gossip.Describe(inc))
	}
	for _, inc := range c.Doubt {
		o.log.Warn("member does not answer; backups are promoted", "suspect", o.gossip.Describe(inc))
	}
	for _, inc := range c.Settle {
		o.log.Info("member's replicas in sync", "settled", o.gossip.Describe(inc))
	}
	if c.Protocol != 0 {
		o.log.Info("grid protocol changed", "before", int(r.InUse()), "protocol", int(c.Protocol))
	}
	if len(c.Take) > 0 {
		o.log.Info("backups promoted to owners", "partitions", len(c.Take))
	}
	switch {
	case len(c.Lose) == 0:
	case !r.Assigned():
		o.log.Info("partitions assigned; serving", "partitions", len(c.Lose))
	case r.Stopped > 0:
		o.log.Info("partitions assigned after an orderly stop; serving", "partitions", len(c.Lose))
	default:
		o.log.Warn("partitions lost: no replica was left; their tables begin empty, and their holders wait until "+
			"cluster time reaches the floor",
			"partitions", len(c.Lose))
	}
}

func (l *lead) InUse(err error) { l.of.formation.NoteRefusal(refusalOf(err)) }

func (l *lead) ReportClocks(v clustertime.Verdict) {
	if v.Held {
		l.of.log.Warn("voters' clocks jumped ahead; cluster time follows when they agree for a minute",
			"ahead", v.Jump.Duration(), "agreed", v.Agreed)
		return
	}
	l.of.log.Warn("cluster time ahead of the clocks", "ahead", v.Behind.Duration(),
		"advice",
		"the clocks were ahead before; if all members without data directories stop now, start the next grid by `snowgrid "+
			"init --floor`, or IDs repeat")
}
