package formation

import (
	"errors"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// A grid may continue under another claim of its anchor without an unreachable member: the restarted
// leader takes the record and resets the roster. The member is registered under the earlier claim, and
// rejects messages under the other one (A9): it cannot distinguish that grid from a copy of its own.
// So it drops its state under its claim, as a restart would, and joins like a process that has just
// started:
//
//	registered -- out of touch, and a leader refuses it for its claim --> left behind
//	     ^                                                                    | leftBehindAfter
//	     +------- joins, with its log, and without roster and tables <--------+

// leftBehindAfter is the silence from its leader after which a member drops its claim. Until then open
// streams may still deliver the log with the next claim.
const leftBehindAfter = 10 * time.Second

// leftBehind notes that the grid has gone on under another claim, and gives up this member's when it
// has been out of touch for long. The caller has the turn.
func (f *Formation) leftBehind() wait {
	node, r := f.raft.Node(), f.state.Roster()
	if _, in := r.Member(f.self); !in {
		return nextTick
	}
	f.behind.Store(true)
	if time.Since(node.LastContact()) < leftBehindAfter {
		return nextTick
	}
	f.log.Warn(
		"left behind: the grid continues under another anchor claim; this member discards its own and joins again",
		"claim", string(r.Claim), "advice", "if a copy of the grid's data was started, stop it")
	f.giveUpClaim(r)
	return nextTick
}

// followOthers gives up the claim of a registered member if no leader has been in touch with it for long, and it
// refuses voters for their claim meanwhile. A restarted voter states no claim, since it has a log and no roster yet, or
// an earlier one, of its last snapshot; a voter that was left behind states an earlier one. The majority may depend on
// both: on their logs, which may be longer, and on this member's vote. They elect a leader then, which takes the record
// under another claim, as after a restart of all voters. The caller has the turn.
func (f *Formation) followOthers(registered bool) {
	node, r := f.raft.Node(), f.state.Roster()
	if !registered || r.Claim == "" || time.Since(node.LastContact()) < leftBehindAfter ||
		!f.state.OtherClaimWithin(leftBehindAfter) {
		return
	}
	f.log.Warn("no leader, and voters have another claim or none: this member discards its own and joins again",
		"claim", string(r.Claim), "advice", "if a copy of the grid's data was started, stop it")
	f.giveUpClaim(r)
}

// giveUpClaim ends this member's part under its claim, without roster and tables, and begins the next with its log.
func (f *Formation) giveUpClaim(r *roster.Roster) {
	f.idMu.Lock()
	f.previous.Bounds = f.previous.BoundsAfter(r, f.latestTime())
	f.idMu.Unlock()
	f.endTenure()
	if f.ctx.Err() != nil {
		return
	}
	f.raft.Void()
	f.forget()
	f.takePart()
}

// LeftBehind returns the reason if the grid has gone on without this member, which joins it again, nil if
// it has not.
func (f *Formation) LeftBehind() error {
	if f.behind.Load() {
		return errors.New("this member is left behind: the grid continues under another anchor claim, and this member " +
			"joins it again automatically")
	}
	return nil
}
