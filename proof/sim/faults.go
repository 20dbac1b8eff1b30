package sim

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// Faults. If a fault does not apply to the current state, another one is drawn.

type fault int

const (
	cutPair fault = iota
	cutOneWay
	cutOff
	crashMember
	crashAll
	pauseMember
	pauseHolder
	stepClock
	turnClock
	joinMember
	leaveGrid
	changeLeader
	crashHolder
	leaveHolder
	falseAlarm
	stopInOrder
	deafMember
	wipeDisk
	crashTogether
	removeMember
	newSettings
	falseSign
	lateLook
	failedDisk
	copiedDisk
	oldDisk
	forgetDisk
	changeVoters
	anchorAway
	anchorTaken
	lostMajority
	faultCount
)

var faultNames = [faultCount]string{
	cutPair: "cut between two", cutOneWay: "cut one way", cutOff: "cut off from all", crashMember: "crash of a member",
	crashAll: "crash of all members", pauseMember: "pause of a member", pauseHolder: "pause of a holder",
	stepClock: "step of a wall clock", turnClock: "wrong pace of a clock", joinMember: "join", leaveGrid: "leave",
	changeLeader: "change of leader", crashHolder: "crash of a holder", leaveHolder: "leave of a holder",
	falseAlarm: "false alarm about a member", stopInOrder: "stop in order",
	deafMember: "the log comes late to a member", wipeDisk: "loss of a disk",
	crashTogether: "crash of several, or of a zone", removeMember: "removal by an operator",
	newSettings: "change of settings by an operator",
	falseSign:   "a false sign about the leader", lateLook: "looks at the leader are late or lost",
	failedDisk: "a disk that fails",
	copiedDisk: "a process from a copied directory", oldDisk: "a start from an older directory",
	forgetDisk: "a disk given up by an operator", changeVoters: "change of the number of voters by an operator",
	anchorAway: "the anchor out of reach", anchorTaken: "the anchor taken by a rival",
	lostMajority: "loss of a majority of the voters for good",
}

// FaultName returns the name of a fault of [Counts].
func FaultName(i int) string { return faultNames[i] }

// alarm distorts a leader's view of a member: probes time out (silent) or are refused (gone), or
// only gossip misses the member (unseen).
type alarm int

const (
	alarmNone alarm = iota
	alarmSilent
	alarmGone
	alarmUnseen
)

// weights are the relative frequencies of faults.
var weights = [faultCount]int{
	cutPair: 6, cutOneWay: 8, cutOff: 10, crashMember: 12, crashAll: 3, pauseMember: 10, pauseHolder: 8, stepClock: 4,
	turnClock: 8, joinMember: 6, leaveGrid: 3, changeLeader: 6, crashHolder: 12, leaveHolder: 4, falseAlarm: 6,
	stopInOrder: 2, deafMember: 10, wipeDisk: 2,
	crashTogether: 6, removeMember: 3, newSettings: 4,
	falseSign: 6, lateLook: 5, failedDisk: 4, copiedDisk: 4, oldDisk: 2, forgetDisk: 3, changeVoters: 3,
	anchorAway: 6, anchorTaken: 2, lostMajority: 12,
}

// nemesis injects faults into a grid.
type nemesis struct{ g *grid }

// nextFault injects faults until the quiet begins.
func (nm *nemesis) nextFault() {
	nm.g.w.after(nm.g.w.between(0, 2*nm.g.cfg.Faults), func() {
		if nm.g.calm {
			return
		}
		for !nm.befall(nm.drawFault()) {
		}
		nm.nextFault()
	})
}

func (nm *nemesis) drawFault() fault {
	total := 0
	of := weights
	if nm.g.anchor == nil {
		of[anchorAway], of[anchorTaken] = 0, 0
	}
	if nm.g.cfg.Recoveries == 0 {
		of[lostMajority] = 0
	}
	for _, n := range of {
		total += n
	}
	n := nm.g.w.rng.IntN(total)
	for f, weight := range of {
		if n -= weight; n < 0 {
			return fault(f)
		}
	}
	return cutPair
}

// span draws the duration of a fault: mostly seconds, sometimes minutes, and never past the faults'
// end.
func (nm *nemesis) span() time.Duration {
	d := nm.g.w.between(100*time.Millisecond, 8*time.Second)
	switch {
	case nm.g.w.chance(0.1):
		d = nm.g.w.between(0, 4*time.Minute)
	case nm.g.w.chance(0.4):
		d = nm.g.w.between(0, 40*time.Second)
	}
	return min(d, max(nm.g.cfg.Length-nm.g.w.now, 0))
}

// befall injects one fault, and reports whether it applied.
func (nm *nemesis) befall(f fault) bool {
	m := nm.g.someMember()
	var whom int
	var done bool
	switch {
	case f == anchorAway:
		nm.g.anchor.away, done = nm.g.w.now+nm.span(), true
	case f == anchorTaken:
		done = nm.rivalTakes()
	case f == lostMajority:
		done = nm.g.operator.loseMajority()
	case f == joinMember:
		whom, done = nm.joinNew()
	case f == newSettings:
		done = nm.setSettings()
	case f == lateLook:
		done = nm.lateLook()
	case f == forgetDisk:
		done = nm.forgetSome()
	case f == changeVoters:
		done = nm.setVoters()
	case f == removeMember:
		done = nm.remove(pick(nm.g.w, nm.g.seats))
	case m == nil:
		return true
	case f == pauseHolder || f == crashHolder || f == leaveHolder:
		done = nm.befallHolder(f)
	default:
		whom, done = m.place, nm.befallMember(f, m)
	}
	if done {
		nm.g.counts.Faults[f]++
		nm.g.w.note(faulted, "", int64(f), int64(whom))
	}
	return done
}

func (nm *nemesis) befallMember(f fault, m *member) bool {
	switch f {
	case cutPair:
		return nm.cutFrom(m, true)
	case cutOneWay:
		return nm.cutFrom(m, false)
	case cutOff:
		return nm.cutAll(m)
	case crashMember:
		return nm.crashOne(m)
	case crashAll:
		return nm.crashEverybody()
	case crashTogether:
		return nm.crashSeveral(m)
	case falseSign:
		return nm.falseSigns(m)
	case failedDisk:
		return nm.failDisk(m)
	case copiedDisk:
		return nm.copyDisk(m)
	case oldDisk:
		return nm.rollBack(m)
	case wipeDisk:
		return nm.loseDisk(m)
	case pauseMember:
		m.until = max(m.until, nm.g.w.now+nm.span())
	case deafMember:
		m.deaf = max(m.deaf, nm.g.w.now+nm.span())
	case stepClock:
		step := clustertime.Span(nm.g.w.between(0, 6*time.Hour)-3*time.Hour) / 1e6
		if nm.g.w.chance(0.5) {
			step /= 1000
		}
		if nm.g.cfg.Recoveries > 0 { // a recovery only promises correctness up to this
			step = max(-skewMost, min(skewMost, nm.g.skew[m.place]+step)) - nm.g.skew[m.place]
		}
		m.wall = m.wall.Add(step)
		if nm.g.stepped == 0 {
			nm.g.stepped = nm.g.w.now
		}
		nm.g.skew[m.place] += step
	case turnClock:
		nm.turn(&m.process)
	case leaveGrid:
		return nm.leave(m)
	case changeLeader:
		nm.g.agreed.vote()
	case falseAlarm:
		nm.alarm(m)
	case stopInOrder:
		return nm.stop(m)
	}
	return true
}

func (nm *nemesis) befallHolder(f fault) bool {
	if len(nm.g.holders) == 0 {
		nm.g.addHolder()
	}
	h := pick(nm.g.w, nm.g.holders)
	switch f {
	case pauseHolder:
		h.until = max(h.until, nm.g.w.now+nm.span())
		if nm.g.w.chance(0.3) {
			nm.turn(&h.process)
		}
	case crashHolder:
		nm.hasten(h)
		nm.g.endHolder(h)
		nm.g.addHolder()
	case leaveHolder:
		for _, e := range h.entries {
			if e.handle != nil {
				_ = e.handle.DetachLogicalNode(ended)
			}
			e.idle = nm.g.w.now + time.Hour
		}
		h.after(2*time.Second, func() {
			nm.g.endHolder(h)
			nm.g.addHolder()
		})
	}
	return true
}

// strike injects a fault at the worst moment for an owner: its partition has just changed, and the
// owner does not receive the change for a while.
func (nm *nemesis) strike(owner roster.Incarnation) {
	m := nm.g.members[owner]
	if nm.g.calm || m == nil || !m.alive || !nm.g.w.chance(nm.g.cfg.Strike) {
		return
	}
	f := deafMember
	if nm.g.w.chance(0.2) {
		f = pauseMember
	}
	nm.befallMember(f, m)
	nm.g.counts.Faults[f]++
	nm.g.w.note(faulted, "", int64(f), int64(m.place))
}

// turn gives a clock a wrong rate for a while: slightly wrong, wrong by up to a tenth, or between
// less than half and more than twice the true rate. An owner with a fast clock takes live holders
// for dead. The periods are short because an owner without raises runs ahead, and its new
// attachments begin at that time: their holders would have to wait as long.
func (nm *nemesis) turn(p *process) {
	rate, limit := nm.g.w.rng.Int64N(400)-200, time.Hour
	switch {
	case nm.g.w.chance(0.5):
		rate, limit = nm.g.w.rng.Int64N(2_100_000)-600_000, 8*time.Second
	case nm.g.w.chance(0.4):
		rate, limit = nm.g.w.rng.Int64N(200_000)-100_000, 2*time.Minute
	}
	p.run(rate)
	nm.g.w.after(limit, func() { p.run(0) })
}

// hasten speeds up an owner's clock, at times, just when one of its holders stops. The owner then
// releases nodes that may still be in use.
func (nm *nemesis) hasten(h *holder) {
	owner := h.machine.Owner(h.entries[0].def.Name())
	if _, m := nm.g.at(owner); owner != "" && m != nil && nm.g.w.chance(0.3) {
		m.run(1_000_000 + nm.g.w.rng.Int64N(500_000))
		nm.g.w.after(8*time.Second, func() { m.run(0) })
		nm.g.counts.Faults[turnClock]++
		nm.g.w.note(faulted, "", int64(turnClock), int64(m.place))
	}
}

// cutFrom cuts the connection between a member and another member, or a holder.
func (nm *nemesis) cutFrom(m *member, both bool) bool {
	other := nm.g.someMember().place
	if len(nm.g.holders) > 0 && nm.g.w.chance(0.3) {
		other = pick(nm.g.w, nm.g.holders).place
	}
	if other == m.place {
		return false
	}
	until := nm.g.w.now + nm.span()
	one, two := m.place, other
	if nm.g.w.chance(0.5) {
		one, two = two, one
	}
	nm.g.w.net.cut[[2]int{one, two}] = until
	if both {
		nm.g.w.net.cut[[2]int{two, one}] = until
	}
	return true
}

// cutAll splits the network: a member and some other places against the rest.
func (nm *nemesis) cutAll(m *member) bool {
	until := nm.g.w.now + nm.span()
	side := map[int]bool{m.place: true}
	places := make([]int, 0, len(nm.g.seats)+len(nm.g.holders))
	for _, s := range nm.g.seats {
		places = append(places, s.place)
		if nm.g.w.chance(0.3) {
			side[s.place] = true
		}
	}
	for _, h := range nm.g.holders {
		if h.within == nil {
			places = append(places, h.place)
			side[h.place] = nm.g.w.chance(0.5)
		}
	}
	way := nm.g.w.rng.IntN(4) // 0 and 1: one direction; 2 and 3: both
	for _, a := range places {
		for _, b := range places {
			if side[a] && !side[b] {
				if way != 0 {
					nm.g.w.net.cut[[2]int{a, b}] = until
				}
				if way != 1 {
					nm.g.w.net.cut[[2]int{b, a}] = until
				}
			}
		}
	}
	return true
}
