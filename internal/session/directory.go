package session

import (
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// Stamp is in every answer: the roster that it was given by, and the cluster time.
type Stamp struct {
	Grid    roster.GridID
	Version roster.Version
	Time    clustertime.Tick
}

// Directory tells which member owns each partition, as some member knows it. It is a
// hint: a member that does not own a partition says so.
type Directory struct {
	Grid    roster.GridID
	Version roster.Version
	Window  time.Duration
	Members []string // their addresses
	Owners  []string // address of each partition's owner, "" while it has none
}

// StaleAnswer is the age of a request over which the time in its answer is not used.
const StaleAnswer = 2 * time.Second

// Adopt takes in a directory that was asked for at a time, and the cluster time in it.
// It keeps the newer of two directories of one grid and reports whether that is this
// one. A grid that has begun again, and kept nothing, has another time.
func (m *Machine) Adopt(now Now, d Directory, asked time.Duration, t clustertime.Tick) bool {
	known := m.asked >= 0
	if known && m.directory.Grid != d.Grid {
		m.effects.Forget = true
	}
	newer := !known || m.directory.Grid != d.Grid || m.directory.Version <= d.Version
	if newer {
		m.directory, m.owners, m.groups = d, ownersOf(d.Owners), nil
		m.directory.Owners = nil
		m.tryNewOwners(now)
	}
	m.asked = asked
	m.Stamped(now, Stamp{Grid: d.Grid, Version: d.Version, Time: t}, asked)
	return newer
}

// Confirm takes in that some member has the directory of a stamp too, and no other: the own one
// counts as fetched.
func (m *Machine) Confirm(now Now, s Stamp, asked time.Duration) {
	if m.asked < 0 || m.directory.Grid != s.Grid || m.directory.Version < s.Version {
		return
	}
	m.asked = asked
	m.tryNewOwners(now)
	m.Stamped(now, s, asked)
}

// KnownSince reports whether the directory was asked for after a time.
func (m *Machine) KnownSince(mono time.Duration) bool { return m.asked >= 0 && m.asked > mono }

// Owner returns the address of a name's owner, "" while it has none.
func (m *Machine) Owner(name string) string {
	if len(m.owners.of) == 0 {
		return ""
	}
	return m.owners.addrs[m.owners.of[m.Partition(name)]]
}

// Partition returns the partition of a name, 0 while the directory names none.
func (m *Machine) Partition(name string) roster.PartitionID {
	if len(m.owners.of) == 0 {
		return 0
	}
	return roster.PartitionOf(name, len(m.owners.of))
}

// owners are the owners in a directory, in little memory: each process keeps them, also one with
// a single handle.
type owners struct {
	addrs []string // each once
	of    []uint16 // of each partition, an index of addrs; there are fewer members than that counts
}

// ownersOf returns the owners of partitions by their addresses.
func ownersOf(partitions []string) owners {
	out := owners{of: make([]uint16, len(partitions))}
	index := map[string]uint16{}
	for p, addr := range partitions {
		i, known := index[addr]
		if !known {
			i = uint16(len(out.addrs))
			index[addr] = i
			out.addrs = append(out.addrs, addr)
		}
		out.of[p] = i
	}
	return out
}

// Stamped takes in the stamp of an answer to a request sent at began. The directory is
// looked up if the answer is by a newer roster. The time of another grid than the
// directory's counts only when the directory is that grid's.
func (m *Machine) Stamped(now Now, s Stamp, began time.Duration) {
	known := m.asked >= 0 && m.directory.Grid == s.Grid
	if !known || m.directory.Version < s.Version {
		m.lookUp(began)
	}
	if known && now.Mono-began <= StaleAnswer && s.Time > 0 {
		m.effects.Time = s.Time
	}
}

// lookUp has the directory asked for unless one that was asked for after a time is
// there, once however many events want it.
func (m *Machine) lookUp(after time.Duration) {
	if !m.lookingUp {
		m.lookingUp = true
		m.effects.LookUp, m.effects.Since = true, after
	}
}

// LookedUp takes in the end of a look-up that the machine asked for, whether it found a
// directory or not.
func (m *Machine) LookedUp() { m.lookingUp = false }

// nextMember is how long a look-up that a call waits for gives the first member before
// another is asked too. Each further one gets twice as long: when all are slow, asking
// all makes them slower. A look-up that no call waits for gives each a whole call.
const nextMember = 200 * time.Millisecond

// LookUp is one search for the directory: which member is asked, and when the next one.
// Its driver asks one member at the start, one after each failure, and one whenever
// Patience has passed without an answer.
type LookUp struct {
	members       []string
	asked, failed int
	urgent        bool
	patience      time.Duration
}

// NewLookUp returns a search, urgent if a call waits for it. It asks the members in the
// directory first, beginning with another one each time.
func (m *Machine) NewLookUp(urgent bool) *LookUp {
	l := &LookUp{urgent: urgent, patience: CallTimeout}
	if urgent {
		l.patience = nextMember
	}
	if n := len(m.directory.Members); n > 0 {
		m.lookUps++
		first := m.lookUps % n
		l.members = slices.Concat(m.directory.Members[first:], m.directory.Members[:first])
	}
	for _, addr := range m.cfg.Addrs {
		if !slices.Contains(l.members, addr) {
			l.members = append(l.members, addr)
		}
	}
	return l
}

// Ask returns the address of the next member to ask, "" if all have been.
func (l *LookUp) Ask() string {
	if l.asked == len(l.members) {
		return ""
	}
	l.asked++
	return l.members[l.asked-1]
}

// Failed counts a member that did not answer with a directory, and reports whether all
// have failed.
func (l *LookUp) Failed() bool {
	l.failed++
	return l.failed == len(l.members)
}

// Patience returns how long to wait for an answer before another member is asked too.
func (l *LookUp) Patience() time.Duration { return l.patience }

// Hurry makes a search urgent from now on, since a call waits for it, and reports whether it
// was not: another member is asked immediately then.
func (l *LookUp) Hurry() bool {
	if l.urgent {
		return false
	}
	l.urgent, l.patience = true, nextMember
	return true
}

// Waited takes in that Patience has passed.
func (l *LookUp) Waited() { l.patience *= 2 }
