package leader

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
)

const (
	// protocolPatience bounds the wait for the roster's protocol.
	protocolPatience = 5 * time.Second
	// protocolWaits bounds the requests that wait.
	protocolWaits = 64
	// lowerAfter is the time without a need for the roster's protocol before the leader
	// lowers it, so that members may go back to the release before.
	lowerAfter = time.Minute
)

// protocols raises the roster's protocol for the requests that need a later one, and lowers it
// when nothing needs it.
//
//	request ---> does every member have it?      -- yes --> Change.Protocol ---> reply nil
//	                  | one does not have it: refused
//	                  | one has not answered: wait
//
// An incarnation is one process, so its release stays the same while it is a member. The change
// counts at one version of the roster only: if a member joins meanwhile, the next attempt
// includes it.
type protocols struct {
	self     roster.Incarnation
	own      roster.Release // of this process
	detector *detector
	claimant *anchoring
	changes  *changes

	waiting []protocolWait
	needed  time.Duration // when the roster's protocol was last needed
	began   bool          // needed is set
}

type protocolWait struct {
	protocol roster.Protocol
	part     string // that needs it
	until    time.Duration
	reply    func(error)
}

func (x *protocols) request(v View, p roster.Protocol, part string, reply func(error)) {
	x.need(v)
	if len(x.waiting) >= protocolWaits {
		reply(failure.Errorf(ErrUnavailable, "grid: %s: %d requests wait for protocol %d already; try again", part,
			protocolWaits, p))
		return
	}
	x.waiting = append(x.waiting, protocolWait{protocol: p, part: part, until: v.Mono + protocolPatience, reply: reply})
	x.step(v)
}

// need records that the roster's protocol is needed now.
func (x *protocols) need(v View) { x.needed, x.began = v.Mono, true }

// step answers the requests that can be answered, and proposes the protocol that the others need,
// or a lower one if nothing has needed the present one for a while.
func (x *protocols) step(v View) {
	highest := roster.Protocol(0)
	x.waiting = slices.DeleteFunc(x.waiting, func(w protocolWait) bool {
		done, err := x.answer(v, w)
		if done {
			w.reply(err)
		} else {
			highest = max(highest, w.protocol)
		}
		return done
	})
	needed, _ := v.Roster.Needs()
	switch {
	case !x.claimant.claims(v.Roster):
	case highest > 0 || !x.began || needed == v.Roster.InUse():
		x.need(v)
		if _, silent := x.lacking(v, highest); highest > 0 && len(silent) == 0 && !x.changes.pending {
			x.propose(v, highest)
		}
	case v.Mono-x.needed >= lowerAfter && !x.changes.pending:
		x.propose(v, needed)
	}
}

// answer returns whether a request has a reply, and the reply.
func (x *protocols) answer(v View, w protocolWait) (done bool, err error) {
	if v.Roster.InUse() >= w.protocol {
		return true, nil
	}
	lack, silent := x.lacking(v, w.protocol)
	switch {
	case len(lack) > 0:
		return true, failure.Errorf(ErrNotNow,
			"grid: %s: every member has to run a release with protocol %d, and %s; upgrade it and try again",
			w.part, w.protocol, strings.Join(lack, ", "))
	case v.Mono >= w.until && len(silent) > 0:
		return true, failure.Errorf(ErrUnavailable,
			"grid: %s: every member has to run a release with protocol %d, and %s; try again",
			w.part, w.protocol, strings.Join(silent, ", "))
	case v.Mono >= w.until:
		return true, failure.Errorf(ErrUnavailable, "grid: %s: protocol %d is not agreed on yet; try again", w.part,
			w.protocol)
	}
	return false, nil
}

// lacking returns the members whose release does not have a protocol, and the members with an
// unknown release. A removed member that still has a vote counts: if it
// cannot read the roster it ends, and without a disk its vote is lost for good.
func (x *protocols) lacking(v View, p roster.Protocol) (lack, silent []string) {
	for _, m := range v.Roster.Members {
		release, said := x.own, true
		if m.Incarnation != x.self {
			release, said = x.detector.release(m.Incarnation)
		}
		switch {
		case !said:
			silent = append(silent, fmt.Sprintf("member %s at %.80s has not answered yet", m.Incarnation.Member(), m.API))
		case !release.Reads(p):
			lack = append(lack, fmt.Sprintf("member %s at %.80s runs %s", m.Incarnation.Member(), m.API, release))
		}
	}
	for _, s := range v.Servers {
		if _, member := MemberOf(v.Roster, s.ID); s.Voter && !member && !s.ID.IsDurable() {
			silent = append(silent, fmt.Sprintf("server %s has a vote and is not a member", s.ID))
		}
	}
	return lack, silent
}

func (x *protocols) propose(v View, p roster.Protocol) {
	x.changes.propose(roster.Command{From: v.Roster.Version, Claim: v.Roster.Claim, Change: &roster.Change{Protocol: p}})
}
