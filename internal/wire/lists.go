package wire

// List implements [Listing].
func (r *AttachRequest) List(f *Fields) {
	Text(f, "holder", &r.Holder)
	f.Struct("claim", r.Claim.List)
	HexPointer(f, "previous", &r.Previous)
	Pointer(f, "identity", &r.Identity)
	Pointer(f, "about", &r.About)
}

// List implements [Listing].
func (r *AttachResponse) List(f *Fields) {
	r.list(f)
	Number(f, "node", &r.Node)
	f.Struct("grant", func(f *Fields) {
		Number(f, "from", &r.Grant.From)
		Number(f, "until", &r.Grant.Until)
	})
}

// List implements [Listing].
func (r *DetachRequest) List(f *Fields) {
	Text(f, "holder", &r.Holder)
	f.Struct("sequencer", r.Sequencer.List)
	Hex(f, "id", &r.ID)
	Number(f, "node", &r.Node)
	Number(f, "last_used", &r.LastUsed)
	NonZero(f, "ids", &r.IDs)
	NonZero(f, "waits", &r.Waits)
}

// List implements [Listing].
func (d *Done) List(f *Fields) { d.list(f) }

// list lists the fields of a message that embeds the stamp. It is not List, which each of these
// messages would inherit.
func (s *Stamp) list(f *Fields) {
	Hex(f, "grid", &s.Grid)
	Number(f, "version", &s.Version)
	Number(f, "time", &s.Time)
}

// List implements [Listing].
func (c *Claim) List(f *Fields) {
	f.Struct("sequencer", c.Sequencer.List)
	Hex(f, "id", &c.ID)
	Nullable(f, "node", &c.Node)
	Hex(f, "grid", &c.Grid)
	Number(f, "version", &c.Version)
	Number(f, "until", &c.Until)
}

// List implements [Listing].
func (s *Sequencer) List(f *Fields) {
	Text(f, "name", &s.Name)
	Number(f, "epoch", &s.Epoch)
	Number(f, "nodes", &s.Nodes)
	if f.Has("layout", !s.Layout.IsZero()) {
		f.object(func(f *Fields) {
			Number(f, "bits", &s.Layout.Bits)
			Number(f, "low_bits", &s.Layout.LowBits)
			Number(f, "nodes", &s.Layout.Nodes)
		})
	}
	if f.Has("node_range", !s.NodeRange.IsZero()) {
		f.object(func(f *Fields) {
			Number(f, "lo", &s.NodeRange.Lo)
			Number(f, "hi", &s.NodeRange.Hi)
		})
	}
	Hex(f, "life", &s.Life)
	f.Struct("born", func(f *Fields) {
		Number(f, "term", &s.Born.Term)
		Number(f, "number", &s.Born.Number)
	})
}

// List implements [Listing].
func (i *Identity) List(f *Fields) {
	Text(f, "cluster", &i.Cluster)
	Text(f, "set", &i.Set)
	Number(f, "id", &i.ID)
	Number(f, "incarnation", &i.Incarnation)
}

// List implements [Listing].
func (a *About) List(f *Fields) {
	if f.Has("build", a.Build != "") {
		text(f, &a.Build)
	}
	Map(f, "labels", &a.Labels)
}
