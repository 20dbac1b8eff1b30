package wire

import (
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Pack appends the value.
func (r AttachRequest) Pack(p *Packer) {
	previous := r.Previous != nil && !r.Previous.IsZero()
	p.Fields(2 + Some(previous, r.Identity != nil, r.About != nil))
	p.Name("holder")
	p.Text(string(r.Holder))
	p.Name("claim")
	r.Claim.packFields(p)
	if previous {
		p.Name("previous")
		p.ID(*r.Previous)
	}
	if r.Identity != nil {
		p.Name("identity")
		r.Identity.packFields(p)
	}
	if r.About != nil {
		p.Name("about")
		r.About.packFields(p)
	}
}

// Unpack reads the value.
func (r *AttachRequest) Unpack(u *Unpacker) {
	left := u.Fields()
	u.Must(&left, "holder")
	r.Holder = attachment.HolderID(u.Text())
	u.Must(&left, "claim")
	r.Claim.unpackFields(u)
	if u.Has(&left, "previous") {
		r.Previous = new(attachment.ID(u.ID()))
	}
	if u.Has(&left, "identity") {
		r.Identity = &Identity{}
		r.Identity.unpackFields(u)
	}
	if u.Has(&left, "about") {
		r.About = &About{}
		r.About.unpackFields(u)
	}
	u.End(left)
}

func (c *Claim) packFields(p *Packer) {
	p.Fields(6)
	p.Name("sequencer")
	c.Sequencer.Pack(p)
	p.Name("id")
	p.ID(c.ID)
	p.Name("node")
	packNode(p, c.Node)
	p.Name("grid")
	p.ID(c.Grid)
	p.Name("version")
	p.Uint(uint64(c.Version))
	p.Name("until")
	p.Int(int64(c.Until))
}

func (c *Claim) unpackFields(u *Unpacker) {
	left := u.Fields()
	u.Must(&left, "sequencer")
	c.Sequencer.Unpack(u)
	u.Must(&left, "id")
	c.ID = u.ID()
	u.Must(&left, "node")
	c.Node = unpackNode(u)
	u.Must(&left, "grid")
	c.Grid = u.ID()
	u.Must(&left, "version")
	c.Version = roster.Version(u.Uint64())
	u.Must(&left, "until")
	c.Until = clustertime.Tick(u.Int64())
	u.End(left)
}

func (i *Identity) packFields(p *Packer) {
	p.Fields(4)
	p.Name("cluster")
	p.Text(i.Cluster)
	p.Name("set")
	p.Text(i.Set)
	p.Name("id")
	p.Uint(i.ID)
	p.Name("incarnation")
	p.Uint(i.Incarnation)
}

func (i *Identity) unpackFields(u *Unpacker) {
	left := u.Fields()
	u.Must(&left, "cluster")
	i.Cluster = u.Text()
	u.Must(&left, "set")
	i.Set = u.Text()
	u.Must(&left, "id")
	i.ID = u.Uint64()
	u.Must(&left, "incarnation")
	i.Incarnation = u.Uint64()
	u.End(left)
}

func (a *About) packFields(p *Packer) {
	p.Fields(Some(a.Build != "", len(a.Labels) > 0))
	if a.Build != "" {
		p.Name("build")
		p.Text(a.Build)
	}
	if len(a.Labels) > 0 {
		p.Name("labels")
		p.Pairs(len(a.Labels))
		for key, value := range a.Labels {
			p.Text(key)
			p.Text(value)
		}
	}
}

func (a *About) unpackFields(u *Unpacker) {
	left := u.Fields()
	if u.Has(&left, "build") {
		a.Build = u.Text()
	}
	if u.Has(&left, "labels") {
		n := u.Pairs(2*SizeOf[string]() + wordSize)
		a.Labels = make(map[string]string, n)
		for range n {
			key := u.Text()
			a.Labels[key] = u.Text()
		}
	}
	u.End(left)
}

// Pack appends the value.
func (r DetachRequest) Pack(p *Packer) {
	p.Fields(5 + Some(r.IDs != 0, r.Waits != 0))
	p.Name("holder")
	p.Text(string(r.Holder))
	p.Name("sequencer")
	r.Sequencer.Pack(p)
	p.Name("id")
	p.ID(r.ID)
	p.Name("node")
	p.Uint(uint64(r.Node))
	p.Name("last_used")
	p.Int(int64(r.LastUsed))
	if r.IDs != 0 {
		p.Name("ids")
		p.Uint(r.IDs)
	}
	if r.Waits != 0 {
		p.Name("waits")
		p.Uint(r.Waits)
	}
}

// Unpack reads the value.
func (r *DetachRequest) Unpack(u *Unpacker) {
	left := u.Fields()
	u.Must(&left, "holder")
	r.Holder = attachment.HolderID(u.Text())
	u.Must(&left, "sequencer")
	r.Sequencer.Unpack(u)
	u.Must(&left, "id")
	r.ID = u.ID()
	u.Must(&left, "node")
	r.Node = sequencer.NodeID(u.Uint16())
	u.Must(&left, "last_used")
	r.LastUsed = clustertime.Tick(u.Int64())
	if u.Has(&left, "ids") {
		r.IDs = u.Uint64()
	}
	if u.Has(&left, "waits") {
		r.Waits = u.Uint64()
	}
	u.End(left)
}
