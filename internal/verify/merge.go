package verify

import (
	"maps"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

// merger checks the rows, sorted by ID.
type merger struct {
	cfg     Config
	found   *findings
	hosts   []string
	density *density

	begun  bool
	first  row // the first row with the present ID
	unit   unit
	owners map[uint32]*owner
}

// unit counts the rows in one unit, by node.
type unit struct {
	ticks uint64
	rows  map[uint32]uint64
	last  map[uint32]row
	equal bool // some IDs are: without, no node has more rows than counters
}

// owner is the host that has a node's newest ID, and the host before it.
type owner struct {
	host, before       int
	line               uint64
	ticks, beforeTicks uint64
	hosts              []int // the first hostsShown
	shared             *Finding
}

// hostsShown limits the hosts in a finding.
const hostsShown = 5

// add checks the next row.
func (m *merger) add(r row) {
	ticks, node, _ := m.cfg.Format.Ticks(sequencer.ID(r.id))
	if !m.begun || ticks != m.unit.ticks {
		m.full()
		m.unit.ticks = ticks
		m.unit.equal = false
		clear(m.unit.rows)
	}
	if m.begun && r.id == m.first.id {
		m.found.add(Finding{Kind: Duplicate, Line: r.line(), ID: sequencer.ID(r.id), With: m.first.line()})
		m.density.mark(ticks, node)
		m.unit.equal = true
	} else {
		m.first = r
	}
	m.begun = true
	m.count(node, r)
	m.density.add(ticks, node)
	if len(m.hosts) > 0 {
		m.host(node, ticks, r)
	}
}

func (m *merger) count(node uint32, r row) {
	if m.unit.rows == nil {
		m.unit.rows, m.unit.last = map[uint32]uint64{}, map[uint32]row{}
	}
	m.unit.rows[node]++
	if m.unit.equal {
		m.unit.last[node] = r
	}
}

// full reports the nodes that had more rows than counters in the unit that has ended.
func (m *merger) full() {
	if !m.unit.equal {
		return
	}
	for _, node := range slices.Sorted(maps.Keys(m.unit.rows)) {
		if n := m.unit.rows[node]; n > 1<<m.cfg.Format.CounterBits {
			last := m.unit.last[node]
			m.found.add(Finding{Kind: Overfull, Line: last.line(), ID: sequencer.ID(last.id), Count: n})
		}
	}
	clear(m.unit.last)
}

// host compares a row's host with the node's hosts before.
func (m *merger) host(node uint32, ticks uint64, r row) {
	o := m.owners[node]
	if o == nil {
		m.owners[node] = &owner{host: r.host(), hosts: []int{r.host()}, line: r.line(), ticks: ticks}
		return
	}
	if o.host != r.host() {
		handover := uint64(Handover / m.cfg.Format.Unit)
		returned := r.host() == o.before && ticks-o.beforeTicks <= handover
		if o.shared == nil && (!m.cfg.Reassigned || returned || ticks == o.ticks) {
			o.shared = &Finding{Kind: SharedNode, Line: r.line(), ID: sequencer.ID(r.id), With: o.line}
		}
		if !slices.Contains(o.hosts, r.host()) && len(o.hosts) < hostsShown {
			o.hosts = append(o.hosts, r.host())
		}
		o.before, o.beforeTicks, o.host = o.host, o.ticks, r.host()
	}
	o.ticks, o.line = ticks, r.line()
}

// end reports what needs all rows.
func (m *merger) end() {
	m.full()
	for _, node := range slices.Sorted(maps.Keys(m.owners)) {
		o := m.owners[node]
		if o.shared == nil {
			continue
		}
		for _, host := range o.hosts {
			o.shared.Hosts = append(o.shared.Hosts, m.hosts[host-1])
		}
		m.found.add(*o.shared)
		m.density.mark(o.ticks, node)
	}
}

func span(ticks uint64, unit time.Duration) time.Duration {
	return time.Duration(min(ticks, uint64(1<<62)/uint64(unit))) * unit
}
