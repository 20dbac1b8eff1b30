package raftlog

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// hashicorp/raft derives the interval of a leader's heartbeats, a tenth to a fifth of it, from the
// same setting as the time after which a follower begins an election. Only a leader reads it for the
// former, and only followers for the latter. So a leader that reaches every server has a longer one.
const (
	// restFactor leads to heartbeats each 450 to 900 ms, of which followers await one
	// for transport.HeartbeatTimeout.
	restFactor = 3
	// restAfter is for how long every server has to answer before.
	restAfter = 5 * time.Second
)

// pace sets a leading node's heartbeat interval.
//
//	          every server answers for restAfter
//	quick ------------------------------------------> at rest
//	  ^                                                  |
//	  +--------------------------------------------------+
//	    a server fails or is slow, the lead is passed on, or ends
type pace struct {
	node  *raft.Raft
	quick time.Duration // the timeout of heartbeats but at rest
	disk  *Log          // nil without one

	mu    sync.Mutex  // guards the fields below
	leads bool        // the node does
	rest  *time.Timer // ends with a rest; nil before the first lead
}

func newPace(node *raft.Raft, quick time.Duration, disk *Log) *pace {
	p := &pace{node: node, quick: quick, disk: disk}
	if disk != nil {
		disk.pace.onChange(p.follow)
	}
	return p
}

// follow has a node that does not lead begin elections, and wait for their votes, as its disk allows.
func (p *pace) follow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.leads {
		p.set(p.patience())
	}
}

// patience returns the election timeout: longer while the disk is slow. Changes below a tenth are
// ignored. The caller has the lock.
func (p *pace) patience() time.Duration {
	writes := p.disk.Election()
	if writes <= p.quick {
		return p.quick
	}
	return writes.Round(p.quick / 2)
}

// enter notes that the node is in another state now.
func (p *pace) enter(s raft.RaftState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leads = s == raft.Leader
	p.quicken()
}

// trouble has the heartbeats quick for a while. A nil pace always is.
func (p *pace) trouble() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leads {
		p.quicken()
	}
}

// quicken ends a rest; the next begins after restAfter while the node leads. The caller has the lock.
func (p *pace) quicken() {
	if p.rest != nil {
		p.rest.Stop()
	}
	if !p.leads {
		p.set(p.patience())
		return
	}
	p.rest = time.AfterFunc(restAfter, p.slacken)
	p.set(p.quick)
}

func (p *pace) slacken() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leads {
		p.set(restFactor * p.quick)
	}
}

// set sets the timeout of heartbeats. An election, which a node at rest does not begin, may
// not have a shorter one.
func (p *pace) set(timeout time.Duration) {
	c := p.node.ReloadableConfig()
	if c.HeartbeatTimeout == timeout {
		return
	}
	c.HeartbeatTimeout, c.ElectionTimeout = timeout, timeout
	_ = p.node.ReloadConfig(c) // nil for these values
}
