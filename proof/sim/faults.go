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

// nextFault injects faults until the quiet begins.
func (g *grid) nextFault() {
	g.w.after(g.w.between(0, 2*g.cfg.Faults), func() {
		if g.calm {
			return
		}
		for !g.befall(g.drawFault()) {
		}
		g.nextFault()
	})
}

func (g *grid) drawFault() fault {
	total := 0
	of := weights
	if g.anchor == nil {
		of[anchorAway], of[anchorTaken] = 0, 0
	}
	if g.cfg.Recoveries == 0 {
		of[lostMajority] = 0
	}
	for _, n := range of {
		total += n
	}
	n := g.w.rng.IntN(total)
	for f, weight := range of {
		if n -= weight; n < 0 {
			return fault(f)
		}
	}
	return cutPair
}

// span draws the duration of a fault: mostly seconds, sometimes minutes, and never past the faults'
// end.
func (g *grid) span() time.Duration {
	d := g.w.between(100*time.Millisecond, 8*time.Second)
	switch {
	case g.w.chance(0.1):
		d = g.w.between(0, 4*time.Minute)
	case g.w.chance(0.4):
		d = g.w.between(0, 40*time.Second)
	}
	return min(d, max(g.cfg.Length-g.w.now, 0))
}

// befall injects one fault, and reports whether it applied.
func (g *grid) befall(f fault) bool {
	m := g.someMember()
	var whom int
	var done bool
	switch {
	case f == anchorAway:
		g.anchor.away, done = g.w.now+g.span(), true
	case f == anchorTaken:
		done = g.rivalTakes()
	case f == lostMajority:
		done = g.loseMajority()
	case f == joinMember:
		whom, done = g.joinNew()
	case f == newSettings:
		done = g.setSettings()
	case f == lateLook:
		done = g.lateLook()
	case f == forgetDisk:
		done = g.forgetSome()
	case f == changeVoters:
		done = g.setVoters()
	case f == removeMember:
		done = g.remove(pick(g.w, g.seats))
	case m == nil:
		return true
	case f == pauseHolder || f == crashHolder || f == leaveHolder:
		done = g.befallHolder(f)
	default:
		whom, done = m.place, g.befallMember(f, m)
	}
	if done {
		g.counts.Faults[f]++
		g.w.note(faulted, "", int64(f), int64(whom))
	}
	return done
}

func (g *grid) befallMember(f fault, m *member) bool {
	switch f {
	case cutPair:
		return g.cutFrom(m, true)
	case cutOneWay:
		return g.cutFrom(m, false)
	case cutOff:
		return g.cutAll(m)
	case crashMember:
		return g.crashOne(m)
	case crashAll:
		return g.crashEverybody()
	case crashTogether:
		return g.crashSeveral(m)
	case falseSign:
		return g.falseSigns(m)
	case failedDisk:
		return g.failDisk(m)
	case copiedDisk:
		return g.copyDisk(m)
	case oldDisk:
		return g.rollBack(m)
	case wipeDisk:
		return g.loseDisk(m)
	case pauseMember:
		m.until = max(m.until, g.w.now+g.span())
	case deafMember:
		m.deaf = max(m.deaf, g.w.now+g.span())
	case stepClock:
		step := clustertime.Span(g.w.between(0, 6*time.Hour)-3*time.Hour) / 1e6
		if g.w.chance(0.5) {
			step /= 1000
		}
		if g.cfg.Recoveries > 0 { // a recovery only promises correctness up to this
			step = max(-skewMost, min(skewMost, g.skew[m.place]+step)) - g.skew[m.place]
		}
		m.wall = m.wall.Add(step)
		if g.stepped == 0 {
			g.stepped = g.w.now
		}
		g.skew[m.place] += step
	case turnClock:
		g.turn(&m.process)
	case leaveGrid:
		return g.leave(m)
	case changeLeader:
		g.agreed.vote()
	case falseAlarm:
		g.alarm(m)
	case stopInOrder:
		return g.stop(m)
	}
	return true
}

func (g *grid) befallHolder(f fault) bool {
	if len(g.holders) == 0 {
		g.addHolder()
	}
	h := pick(g.w, g.holders)
	switch f {
	case pauseHolder:
		h.until = max(h.until, g.w.now+g.span())
		if g.w.chance(0.3) {
			g.turn(&h.process)
		}
	case crashHolder:
		g.hasten(h)
		g.endHolder(h)
		g.addHolder()
	case leaveHolder:
		for _, e := range h.entries {
			if e.handle != nil {
				_ = e.handle.DetachLogicalNode(ended)
			}
			e.idle = g.w.now + time.Hour
		}
		h.after(2*time.Second, func() {
			g.endHolder(h)
			g.addHolder()
		})
	}
	return true
}

// strike injects a fault at the worst moment for an owner: its partition has just changed, and the
// owner does not receive the change for a while.
func (g *grid) strike(owner roster.Incarnation) {
	m := g.members[owner]
	if g.calm || m == nil || !m.alive || !g.w.chance(g.cfg.Strike) {
		return
	}
	f := deafMember
	if g.w.chance(0.2) {
		f = pauseMember
	}
	g.befallMember(f, m)
	g.counts.Faults[f]++
	g.w.note(faulted, "", int64(f), int64(m.place))
}

// turn gives a clock a wrong rate for a while: slightly wrong, wrong by up to a tenth, or between
// less than half and more than twice the true rate. An owner with a fast clock takes live holders
// for dead. The periods are short because an owner without raises runs ahead, and its new
// attachments begin at that time: their holders would have to wait as long.
func (g *grid) turn(p *process) {
	rate, limit := g.w.rng.Int64N(400)-200, time.Hour
	switch {
	case g.w.chance(0.5):
		rate, limit = g.w.rng.Int64N(2_100_000)-600_000, 8*time.Second
	case g.w.chance(0.4):
		rate, limit = g.w.rng.Int64N(200_000)-100_000, 2*time.Minute
	}
	p.run(rate)
	g.w.after(limit, func() { p.run(0) })
}

// hasten speeds up an owner's clock, at times, just when one of its holders stops. The owner then
// releases nodes that may still be in use.
func (g *grid) hasten(h *holder) {
	owner := h.machine.Owner(h.entries[0].def.Name())
	if _, m := g.at(owner); owner != "" && m != nil && g.w.chance(0.3) {
		m.run(1_000_000 + g.w.rng.Int64N(500_000))
		g.w.after(8*time.Second, func() { m.run(0) })
		g.counts.Faults[turnClock]++
		g.w.note(faulted, "", int64(turnClock), int64(m.place))
	}
}

// cutFrom cuts the connection between a member and another member, or a holder.
func (g *grid) cutFrom(m *member, both bool) bool {
	other := g.someMember().place
	if len(g.holders) > 0 && g.w.chance(0.3) {
		other = pick(g.w, g.holders).place
	}
	if other == m.place {
		return false
	}
	until := g.w.now + g.span()
	one, two := m.place, other
	if g.w.chance(0.5) {
		one, two = two, one
	}
	g.w.net.cut[[2]int{one, two}] = until
	if both {
		g.w.net.cut[[2]int{two, one}] = until
	}
	return true
}

// cutAll splits the network: a member and some other places against the rest.
func (g *grid) cutAll(m *member) bool {
	until := g.w.now + g.span()
	side := map[int]bool{m.place: true}
	places := make([]int, 0, len(g.seats)+len(g.holders))
	for _, s := range g.seats {
		places = append(places, s.place)
		if g.w.chance(0.3) {
			side[s.place] = true
		}
	}
	for _, h := range g.holders {
		if h.within == nil {
			places = append(places, h.place)
			side[h.place] = g.w.chance(0.5)
		}
	}
	way := g.w.rng.IntN(4) // 0 and 1: one direction; 2 and 3: both
	for _, a := range places {
		for _, b := range places {
			if side[a] && !side[b] {
				if way != 0 {
					g.w.net.cut[[2]int{a, b}] = until
				}
				if way != 1 {
					g.w.net.cut[[2]int{b, a}] = until
				}
			}
		}
	}
	return true
}
