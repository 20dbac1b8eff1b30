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

// Directory maps partitions to their owners in some member's view. It is a hint: a member that does
// not own a partition rejects the request.
type Directory struct {
	Grid    roster.GridID
	Version roster.Version
	Window  time.Duration
	Members []string // their addresses
	Owners  []string // address of each partition's owner, "" while it has none
}

// StaleAnswer is the request age above which the time in its answer is not used.
const StaleAnswer = 2 * time.Second

// Adopt installs a directory requested at asked, and its cluster time. It keeps the newer of two
// directories of one grid and reports whether it installed d. A grid that was bootstrapped again
// without its data has another time.
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

// Confirm records that a member has the same directory version, so the local copy counts as fresh.
func (m *Machine) Confirm(now Now, s Stamp, asked time.Duration) {
	if m.asked < 0 || m.directory.Grid != s.Grid || m.directory.Version < s.Version {
		return
	}
	m.asked = asked
	m.tryNewOwners(now)
	m.Stamped(now, s, asked)
}

// KnownSince reports whether the directory was requested after a time.
func (m *Machine) KnownSince(mono time.Duration) bool { return m.asked >= 0 && m.asked > mono }

// Owner returns the address of a name's owner, "" while it has none.
func (m *Machine) Owner(name string) string {
	if len(m.owners.of) == 0 {
		return ""
	}
	return m.owners.addrs[m.owners.of[m.Partition(name)]]
}

// Owns reports whether the member at an address owns a partition.
func (m *Machine) Owns(addr string) bool { return slices.Contains(m.owners.addrs, addr) }

// Partition returns a name's partition, 0 while the directory names none.
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
	of    []uint16 // by partition, an index into addrs; there are fewer members than that counts
}

// ownersOf compacts the partitions' owners into their distinct addresses.
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

// Stamped applies the stamp of a reply to a request sent at began. A reply from a newer roster
// triggers a look-up. Another grid's time counts only after the directory has changed to that grid.
func (m *Machine) Stamped(now Now, s Stamp, began time.Duration) {
	known := m.asked >= 0 && m.directory.Grid == s.Grid
	if !known || m.directory.Version < s.Version {
		m.lookUp(began)
	}
	if known && now.Mono-began <= StaleAnswer && s.Time > 0 {
		m.effects.Time = s.Time
	}
}

// lookUp requests a directory unless the current one was requested after a time; concurrent causes
// share one look-up.
func (m *Machine) lookUp(after time.Duration) {
	if !m.lookingUp {
		m.lookingUp = true
		m.effects.LookUp, m.effects.Since = true, after
	}
}

// LookedUp ends a look-up requested by the machine, successful or not.
func (m *Machine) LookedUp() { m.lookingUp = false }

// nextMember is the head start of the first member in a look-up that a call waits for. Each further
// one gets twice as long: if all are slow, querying all slows them further. A look-up without a
// waiting call gives each a whole call timeout.
const nextMember = 200 * time.Millisecond

// LookUp is one search for the directory: it selects the members to query, and the delay between them.
// Its driver queries one member at the start, one after each failure, and one whenever Patience has
// passed without a reply.
type LookUp struct {
	members       []string
	asked, failed int
	urgent        bool
	patience      time.Duration
}

// NewLookUp returns a search, urgent if a call waits for it. It starts with the members in the
// directory, from a different one each time.
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

// Ask returns the next member's address, "" after all.
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

// Patience returns the wait for a reply before the next query.
func (l *LookUp) Patience() time.Duration { return l.patience }

// Hurry makes a search urgent for a waiting call, and reports whether it was not yet: the driver then
// queries another member immediately.
func (l *LookUp) Hurry() bool {
	if l.urgent {
		return false
	}
	l.urgent, l.patience = true, nextMember
	return true
}

// Waited records that Patience has passed.
func (l *LookUp) Waited() { l.patience *= 2 }
