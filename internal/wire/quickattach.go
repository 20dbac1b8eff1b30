package wire

import (
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

func (r AttachRequest) pack(p *packer) {
	previous := r.Previous != nil && !r.Previous.IsZero()
	p.fields(2 + some(previous, r.Identity != nil, r.About != nil))
	p.name("holder")
	p.string(string(r.Holder))
	p.name("claim")
	r.Claim.packFields(p)
	if previous {
		p.name("previous")
		p.id(*r.Previous)
	}
	if r.Identity != nil {
		p.name("identity")
		r.Identity.packFields(p)
	}
	if r.About != nil {
		p.name("about")
		r.About.packFields(p)
	}
}

func (r *AttachRequest) unpack(u *unpacker) {
	left := u.fields()
	u.must(&left, "holder")
	r.Holder = sequencer.HolderID(u.string())
	u.must(&left, "claim")
	r.Claim.unpackFields(u)
	if u.has(&left, "previous") {
		r.Previous = new(sequencer.AttachmentID(u.id()))
	}
	if u.has(&left, "identity") {
		r.Identity = &Identity{}
		r.Identity.unpackFields(u)
	}
	if u.has(&left, "about") {
		r.About = &About{}
		r.About.unpackFields(u)
	}
	u.end(left)
}

func (c *Claim) packFields(p *packer) {
	p.fields(6)
	p.name("sequencer")
	c.Sequencer.pack(p)
	p.name("id")
	p.id(c.ID)
	p.name("node")
	packNode(p, c.Node)
	p.name("grid")
	p.id(c.Grid)
	p.name("version")
	p.uint(uint64(c.Version))
	p.name("until")
	p.int(int64(c.Until))
}

func (c *Claim) unpackFields(u *unpacker) {
	left := u.fields()
	u.must(&left, "sequencer")
	c.Sequencer.unpack(u)
	u.must(&left, "id")
	c.ID = u.id()
	u.must(&left, "node")
	c.Node = unpackNode(u)
	u.must(&left, "grid")
	c.Grid = u.id()
	u.must(&left, "version")
	c.Version = roster.Version(u.uint64())
	u.must(&left, "until")
	c.Until = clustertime.Tick(u.int64())
	u.end(left)
}

func (i *Identity) packFields(p *packer) {
	p.fields(4)
	p.name("cluster")
	p.string(i.Cluster)
	p.name("set")
	p.string(i.Set)
	p.name("id")
	p.uint(i.ID)
	p.name("incarnation")
	p.uint(i.Incarnation)
}

func (i *Identity) unpackFields(u *unpacker) {
	left := u.fields()
	u.must(&left, "cluster")
	i.Cluster = u.string()
	u.must(&left, "set")
	i.Set = u.string()
	u.must(&left, "id")
	i.ID = u.uint64()
	u.must(&left, "incarnation")
	i.Incarnation = u.uint64()
	u.end(left)
}

func (a *About) packFields(p *packer) {
	p.fields(some(a.Build != "", len(a.Labels) > 0))
	if a.Build != "" {
		p.name("build")
		p.string(a.Build)
	}
	if len(a.Labels) > 0 {
		p.name("labels")
		p.pairs(len(a.Labels))
		for key, value := range a.Labels {
			p.string(key)
			p.string(value)
		}
	}
}

func (a *About) unpackFields(u *unpacker) {
	left := u.fields()
	if u.has(&left, "build") {
		a.Build = u.string()
	}
	if u.has(&left, "labels") {
		n := u.pairs(2*sizeOf[string]() + wordSize)
		a.Labels = make(map[string]string, n)
		for range n {
			key := u.string()
			a.Labels[key] = u.string()
		}
	}
	u.end(left)
}

func (r AttachResponse) pack(p *packer) {
	p.fields(5)
	r.packFields(p)
	p.name("node")
	p.uint(uint64(r.Node))
	p.name("grant")
	p.fields(2)
	p.name("from")
	p.int(int64(r.Grant.From))
	p.name("until")
	p.int(int64(r.Grant.Until))
}

func (r *AttachResponse) unpack(u *unpacker) {
	left := u.fields()
	r.unpackFields(u, &left)
	u.must(&left, "node")
	r.Node = sequencer.NodeID(u.uint16())
	u.must(&left, "grant")
	of := u.fields()
	u.must(&of, "from")
	r.Grant.From = clustertime.Tick(u.int64())
	u.must(&of, "until")
	r.Grant.Until = clustertime.Tick(u.int64())
	u.end(of)
	u.end(left)
}

func (r DetachRequest) pack(p *packer) {
	p.fields(5 + some(r.IDs != 0, r.Waits != 0))
	p.name("holder")
	p.string(string(r.Holder))
	p.name("sequencer")
	r.Sequencer.pack(p)
	p.name("id")
	p.id(r.ID)
	p.name("node")
	p.uint(uint64(r.Node))
	p.name("last_used")
	p.int(int64(r.LastUsed))
	if r.IDs != 0 {
		p.name("ids")
		p.uint(r.IDs)
	}
	if r.Waits != 0 {
		p.name("waits")
		p.uint(r.Waits)
	}
}

func (r *DetachRequest) unpack(u *unpacker) {
	left := u.fields()
	u.must(&left, "holder")
	r.Holder = sequencer.HolderID(u.string())
	u.must(&left, "sequencer")
	r.Sequencer.unpack(u)
	u.must(&left, "id")
	r.ID = u.id()
	u.must(&left, "node")
	r.Node = sequencer.NodeID(u.uint16())
	u.must(&left, "last_used")
	r.LastUsed = clustertime.Tick(u.int64())
	if u.has(&left, "ids") {
		r.IDs = u.uint64()
	}
	if u.has(&left, "waits") {
		r.Waits = u.uint64()
	}
	u.end(left)
}
