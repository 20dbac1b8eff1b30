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
	// protocolPatience is how long a request waits for the roster's protocol.
	protocolPatience = 5 * time.Second
	// protocolWaits bounds the requests that wait.
	protocolWaits = 64
	// lowerAfter is how long nothing has needed the roster's protocol before the leader
	// lowers it, so that members may go back to the release before.
	lowerAfter = time.Minute
)

// protocols are the requests that need a later protocol than the roster's.
//
//	Need ---> every member is known to have it? -- yes --> Change.Protocol ---> reply nil
//	               | one has not: refused
//	               | one has not said: wait
//
// An incarnation is one process, so what it says of its release is true for as long as it
// is a member. The change counts at one version of the roster alone: if a member joins
// meanwhile, the next attempt asks that one too.
type protocols struct {
	waiting []protocolWait
	needed  time.Duration // when the roster's protocol was last needed
	began   bool          // needed is set
}

// protocolWait is one request.
type protocolWait struct {
	protocol roster.Protocol
	part     string // that needs it
	until    time.Duration
	reply    func(error)
}

// Need asks for a protocol of the roster because of a part that needs it. The reply is nil
// when the roster has it, [ErrNotNow] with the members that do not have it, and
// [ErrUnavailable] if a member has not said which it has.
func (l *Leader) Need(v View, p roster.Protocol, part string, reply func(error)) {
	l.protocols.need(v)
	if len(l.protocols.waiting) >= protocolWaits {
		reply(failure.Errorf(ErrUnavailable, "grid: %s: %d requests wait for protocol %d already; try again", part, protocolWaits, p))
		return
	}
	l.protocols.waiting = append(l.protocols.waiting, protocolWait{protocol: p, part: part, until: v.Mono + protocolPatience, reply: reply})
	l.keepProtocol(v)
}

// need records that the roster's protocol is needed now.
func (p *protocols) need(v View) { p.needed, p.began = v.Mono, true }

// resign answers every request that waits.
func (p *protocols) resign() {
	for _, w := range p.waiting {
		w.reply(errNotLeading)
	}
	p.waiting = nil
}

// keepProtocol answers the requests that can be answered, and proposes the protocol that
// the others need, or a lower one if nothing has needed the present one for a while.
func (l *Leader) keepProtocol(v View) {
	p, highest := &l.protocols, roster.Protocol(0)
	p.waiting = slices.DeleteFunc(p.waiting, func(w protocolWait) bool {
		done, err := l.answerNeed(v, w)
		if done {
			w.reply(err)
		} else {
			highest = max(highest, w.protocol)
		}
		return done
	})
	needed, _ := v.Roster.Needs()
	switch {
	case !l.claims(v.Roster):
	case highest > 0 || !p.began || needed == v.Roster.InUse():
		p.need(v)
		if _, silent := l.lacking(v, highest); highest > 0 && len(silent) == 0 && !l.changing {
			l.proposeProtocol(v, highest)
		}
	case v.Mono-p.needed >= lowerAfter && !l.changing:
		l.proposeProtocol(v, needed)
	}
}

// answerNeed returns whether a request has a reply, and which.
func (l *Leader) answerNeed(v View, w protocolWait) (done bool, err error) {
	if v.Roster.InUse() >= w.protocol {
		return true, nil
	}
	lack, silent := l.lacking(v, w.protocol)
	switch {
	case len(lack) > 0:
		return true, failure.Errorf(ErrNotNow, "grid: %s: every member has to run a release with protocol %d, and %s; upgrade it and try again",
			w.part, w.protocol, strings.Join(lack, ", "))
	case v.Mono >= w.until && len(silent) > 0:
		return true, failure.Errorf(ErrUnavailable, "grid: %s: every member has to run a release with protocol %d, and %s; try again",
			w.part, w.protocol, strings.Join(silent, ", "))
	case v.Mono >= w.until:
		return true, failure.Errorf(ErrUnavailable, "grid: %s: protocol %d is not agreed on yet; try again", w.part, w.protocol)
	}
	return false, nil
}

// lacking returns the members that run a release without a protocol, and those that have
// not said which release they run. One that was removed and still has a vote counts: if it
// cannot read the roster it ends, and without a disk its vote is lost for good.
func (l *Leader) lacking(v View, p roster.Protocol) (lack, silent []string) {
	for _, m := range v.Roster.Members {
		release, said := l.cfg.Release, true
		if m.Incarnation != l.self {
			release, said = l.detector.release(m.Incarnation)
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

func (l *Leader) proposeProtocol(v View, p roster.Protocol) {
	l.propose(roster.Command{From: v.Roster.Version, Claim: v.Roster.Claim, Change: &roster.Change{Protocol: p}})
}

// checkRelease refuses a member that cannot read the grid's roster, or has no protocol in
// common with this one.
func (l *Leader) checkRelease(r *roster.Roster, in roster.Member, a Answer) error {
	if p := r.InUse(); !a.Release.Reads(p) {
		return failure.Errorf(ErrBadRequest, "grid: join refused: the member at %.80q runs %s, the leader %s, and the grid uses protocol %d; start the member with a release that has protocol %d",
			in.API, a.Release, l.cfg.Release, p, p)
	}
	if err := a.Release.Meets(l.cfg.Release); err != nil {
		return failure.Errorf(ErrBadRequest, "grid: join refused: the member at %.80q: %w", in.API, err)
	}
	return nil
}
