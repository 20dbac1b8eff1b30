package gridtest

import (
	"net/netip"
	"sync"
	"time"
)

const (
	streamBuffer = 256 << 10        // unread bytes in one direction
	backlog      = 4096             // streams waiting for Accept, as on Linux (net.core.somaxconn)
	backlogRetry = time.Millisecond // how soon a dial tries again when they are too many
	packetQueue  = 1024             // datagrams waiting for ReadFrom
	packetMax    = 65507            // as over IPv4
	dialMax      = 30 * time.Second // how long a dial to a host that cannot be reached takes
	firstPort    = 40000            // ports for listeners without a number
)

// Network is a network in memory whose faults are those a test makes. It needs
// no real sockets and blocks so that a testing/synctest bubble sees it idle;
// create and use it inside one bubble.
//
// Every host has a name and an IP, both made up at the first mention of the
// name. Addresses may have either; those it reports have the IP, as on a real
// network. To a host, an empty, unspecified or loopback address, or localhost,
// is itself.
//
// Streams behave like TCP: bytes arrive in order or not yet, never twice, and a
// writer waits when 256 KiB are unread. Datagrams are lost when the way is cut
// or 1,024 wait to be read.
type Network struct {
	mu       sync.Mutex
	machines map[string]*machine
	byIP     map[netip.Addr]*machine
	cuts     map[route]bool
	streams  bool // datagrams are lost
	links    map[*link]struct{}
	delay    time.Duration
	between  time.Duration // two regions, besides delay
	changed  chan struct{} // closed and replaced when reachability changes
}

type route struct{ from, to string }

// machine is the part of a host's state that survives a process crash.
type machine struct {
	name   string
	region string
	ip     netip.Addr
	paused bool
	port   int   // the last one picked
	host   *Host // its running process, nil before the first and after a crash
}

// NewNetwork returns a network without hosts, faults or delay.
func NewNetwork() *Network {
	return &Network{
		machines: make(map[string]*machine),
		byIP:     make(map[netip.Addr]*machine),
		cuts:     make(map[route]bool),
		links:    make(map[*link]struct{}),
		changed:  make(chan struct{}),
	}
}

// Host returns the named host's view of the network: the same for every call until Crash, then a new
// process's view with the same IP.
func (n *Network) Host(name string) *Host {
	n.mu.Lock()
	defer n.mu.Unlock()
	m := n.machine(name)
	if m.host == nil {
		m.host = &Host{
			net:       n,
			machine:   m,
			listeners: make(map[int]*listener),
			sockets:   make(map[int]*socket),
		}
	}
	return m.host
}

// machine must be called with mu held.
func (n *Network) machine(name string) *machine {
	m := n.machines[name]
	if m == nil {
		i := len(n.machines) + 1
		m = &machine{
			name: name,
			ip:   netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}),
			port: firstPort,
		}
		n.machines[name] = m
		n.byIP[m.ip] = m
	}
	return m
}

// Cut stops everything between two hosts, in both directions. Bytes on a stream
// wait until Heal, dials wait for it too, datagrams are lost.
func (n *Network) Cut(a, b string) {
	n.change(func() {
		n.cuts[route{a, b}] = true
		n.cuts[route{b, a}] = true
	})
}

// DropDatagrams loses every datagram from now on, as where UDP is blocked, or loses none if drop is false.
func (n *Network) DropDatagrams(drop bool) { n.change(func() { n.streams = drop }) }

// CutOneWay stops traffic from one host to the other. A dial needs both directions.
func (n *Network) CutOneWay(from, to string) {
	n.change(func() { n.cuts[route{from, to}] = true })
}

// Heal undoes every cut between two hosts.
func (n *Network) Heal(a, b string) {
	n.change(func() {
		delete(n.cuts, route{a, b})
		delete(n.cuts, route{b, a})
	})
}

// HealAll undoes every cut. It does not resume paused hosts.
func (n *Network) HealAll() {
	n.change(func() { clear(n.cuts) })
}

// Pause holds all traffic in and out of a host, as if its process were stopped: nothing is refused,
// and incoming stream bytes and datagrams arrive after Resume. Datagrams that it sends while paused
// are lost. The host's code continues to run.
func (n *Network) Pause(name string) {
	n.change(func() { n.machine(name).paused = true })
}

// Resume undoes Pause.
func (n *Network) Resume(name string) {
	n.change(func() { n.machine(name).paused = false })
}

// SetDelay makes everything sent from now on take d to arrive, and a dial twice
// that. Messages of a host to itself take no time.
func (n *Network) SetDelay(d time.Duration) {
	n.change(func() { n.delay = d })
}

// SetRegion puts a host into a region, which is "" for all others.
func (n *Network) SetRegion(name, region string) {
	n.change(func() { n.machine(name).region = region })
}

// SetRegionDelay delays later traffic from one region to another by d more than [Network.SetDelay].
func (n *Network) SetRegionDelay(d time.Duration) {
	n.change(func() { n.between = d })
}

// Crash ends the process on a host: its listeners, sockets and streams are closed, its peers'
// streams reset, and dials to it refused until a new process listens. From then on, the old
// process's goroutines get net.ErrClosed from its Host; the new process needs a new call to Host.
func (n *Network) Crash(name string) {
	n.change(func() {
		m := n.machine(name)
		m.paused = false
		if m.host == nil {
			return
		}
		for _, ln := range m.host.listeners {
			ln.shut()
		}
		for _, s := range m.host.sockets {
			s.shut()
		}
		for l := range n.links {
			for i := range l.ends {
				if l.ends[i].host == m.host {
					n.drop(&conn{l, i})
				}
			}
		}
		m.host.crashed = true
		m.host = nil
	})
}

// Break resets a host's open streams; its process continues.
func (n *Network) Break(name string) {
	n.change(func() {
		m := n.machine(name)
		for l := range n.links {
			for i := range l.ends {
				if l.ends[i].host.machine == m {
					n.drop(&conn{l, i})
				}
			}
		}
	})
}

// change applies a fault and wakes all waiting calls. Messages that are due under the old
// faults arrive before.
func (n *Network) change(apply func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for l := range n.links {
		l.arrive()
	}
	apply()
	for l := range n.links {
		l.setFaults(n.faults(l.ends[0].host.machine, l.ends[1].host.machine))
	}
	for _, m := range n.machines {
		if m.host == nil {
			continue
		}
		for _, s := range m.host.sockets {
			s.setPaused(m.paused)
		}
	}
	close(n.changed)
	n.changed = make(chan struct{})
}

// faults are the faults on a stream between a and b.
type faults struct {
	open  [2]bool // by direction
	delay time.Duration
}

// faults must be called with mu held.
func (n *Network) faults(a, b *machine) faults {
	up := !a.paused && !b.paused
	f := faults{
		open: [2]bool{
			up && !n.cuts[route{a.name, b.name}],
			up && !n.cuts[route{b.name, a.name}],
		},
		delay: n.delayBetween(a, b),
	}
	return f
}

// delayBetween must be called with mu held.
func (n *Network) delayBetween(a, b *machine) time.Duration {
	switch {
	case a == b:
		return 0
	case a.region != b.region:
		return n.delay + n.between
	}
	return n.delay
}

// drop resets a stream. It must be called with mu held.
func (n *Network) drop(c *conn) {
	if _, done := c.link.close(c.end, true); done {
		delete(n.links, c.link)
	}
}

func (n *Network) forget(l *link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.links, l)
}
