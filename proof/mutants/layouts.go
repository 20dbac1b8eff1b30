package main

// layoutTests guard ID layouts, and layoutHTTPTests their use in the HTTP API.
var (
	layoutTests = []string{"./sequencer", "-run",
		"Layout|Expand|Preset|Define|Decompose|MinID|Exhausted|CheckStripes|CheckAt"}
	layoutHTTPTests = []string{"./grid", "-run", "TestAPIIDsCreate"}
	newNameTests    = []string{"./sequencer", "-run", "CheckNew"}
	newSetTests     = []string{"./internal/identity/numbers", "-run", "TestNewNumbers|TestRequests"}
	newStoreTests   = []string{"./client/store", "-run", "NotCreated"}
)

// layoutMutants divide an ID's bits differently from the layout, or lose the layout on the way.
var layoutMutants = []mutant{
	{"layout", "the node's bits overlap the timestamp", "sequencer/layout.go", "(slot^counter)<<(l.shift&63)",
		"(slot^counter)<<((l.shift-1)&63)", layoutTests},
	{"layout", "every layout ends like the zero one", "sequencer/layout.go", "{ return 1 << (l.bits - l.lowBits) }",
		"{ return 1 << 40 }", layoutTests},
	{"layout", "a timestamp begins where that of the zero layout does", "sequencer/layout.go",
		"return ID(int64(offset)<<l.lowBits |", "return ID(int64(offset)<<23 |", layoutTests},
	{"layout", "a layout may have a sign bit", "sequencer/layout.go", "case l.Bits < 0 || l.Bits > maxBits:",
		"case l.Bits < 0 || l.Bits > maxBits+1:", layoutTests},
	{"layout", "a layout may leave no counter", "sequencer/layout.go", "l.LowBits <= bits.Len(uint(l.Nodes-1))",
		"l.LowBits < bits.Len(uint(l.Nodes-1))", layoutTests},
	{"layout", "a sequencer may have more nodes than its layout", "sequencer/layout.go", "case nodes > l.Nodes:",
		"case nodes > maxNodes:", layoutTests},
	{"layout", "the layout's largest node count is not part of a definition", "sequencer/layout.go",
		"mostBits: uint8(bits.Len(uint(l.Nodes - 1))),", "mostBits: uint8(n),", layoutTests},
	{"layout", "one process may take all nodes of a small sequencer", "sequencer/striped.go",
		"most := min(maxStripes, d.nodes.Count(d.Nodes())/2)", "most := maxStripes", layoutTests},
	{"layout", "the layout is lost on the wire", "internal/wire/messages.go",
		"Layout: cfg.Layout, NodeRange: cfg.NodeRange,\n\t\tLife", "NodeRange: cfg.NodeRange,\n\t\tLife", wireTests},
	{"layout", "the layout is ignored on the wire", "internal/wire/messages.go", "Nodes: s.Nodes, Layout: s.Layout,",
		"Nodes: s.Nodes,", wireTests},
	{"layout", "the layout is lost on the disk", "grid/internal/definitions/record.go",
		"if l := cfg.Layout; !l.IsZero() {", "if l := cfg.Layout; l.Bits == 1 {", []string{"./grid/internal/definitions"}},
	{"layout", "the layout is not in a store's document", "internal/record/document.go", "cfg := d.Definition.Config()\n",
		"cfg := d.Definition.Config()\n	cfg.Layout = sequencer.Layout{}\n", recordTests},
	{"layout", "POST /v1/ids ignores the layout", "grid/internal/api/ids.go",
		"Nodes: in.Create.Nodes, Layout: in.Create.Layout,", "Nodes: in.Create.Nodes,", layoutHTTPTests},
	{"new", "a name may end with a space", "internal/spelling/visible.go", "|| strings.HasSuffix(text, \" \")", "",
		newNameTests},
	{"new", "a name may have invisible characters", "internal/spelling/visible.go",
		"unicode.In(r, unicode.Cf, unicode.Z,",
		"unicode.In(r, unicode.Z,", newNameTests},
	{"new", "a name may have a blank Braille pattern", "internal/spelling/visible.go", "|| r == '\\u2800'", "",
		newNameTests},
	{"new", "a name may have variation selectors", "internal/spelling/visible.go",
		"unicode.Z, unicode.Variation_Selector,",
		"unicode.Z,", newNameTests},
	{"new", "a new set prints like another", "internal/identity/numbers/command.go", "!found && c.Apply != nil",
		"found && c.Apply != nil", newSetTests},
	{"new", "an address that is odd is stored", "internal/identity/numbers/command.go", "spelling.Fault(addr)",
		"spelling.Fault(c.Name)", newSetTests},
	{"new", "the leader stores sets that print like others", "internal/identity/numbers/tracker.go",
		"err := c.CheckNew(t.v.Registry, t.v.Grid); err != nil {",
		"err := c.CheckNew(t.v.Registry, t.v.Grid); err != nil && t.v.Now < 0 {",
		[]string{"./grid", "-run", "TestNewTextsThatPrint"}},
	{"new", "an epoch may be in seconds", "sequencer/checknew.go", "ms >= minSecondsLike && ms < maxSecondsLike", "false",
		newNameTests},
	{"new", "an owner creates names that look equal", "partition/table.go", "attachment.CheckNew(ref.Definition, now)",
		"error(nil)", tableTests},
	{"new", "a store client creates names that look equal", "client/store/create.go", "if err := attachment.CheckNew(def, c.clock.Now()); err != nil {\n\t\treturn err\n", "if err := error(nil); err != nil {\n\t\treturn err\n", newStoreTests},
	{"new", "a store client creates names that look equal after a destroy", "client/store/create.go", "if err := attachment.CheckNew(def, c.clock.Now()); err != nil {\n\t\t\treturn d, err\n", "if err := error(nil); err != nil {\n\t\t\treturn d, err\n", newStoreTests},
	{"H3", "a holder whose record was lost waits although it has a grant", "client/store/lost.go",
		"h.control.ReplaceAtEnd(ctx, id)", "h.control.Replace(ctx, id)", []string{"./client/store", "-run", "LostRecord"}},
	{"H3", "a record waits for a handle that was detached", "client/store/registry.go", "if s.id == id || s.h == h {",
		"if s.id == id {", []string{"./client/store", "-run", "WatchHears"}},
	{"fork", "the child of a fork issues IDs", "internal/fork/fork.go", "return *page == 0", "return false",
		[]string{"./sequencer", "-run", "Fork"}},
	{"fork", "a slot of before the fork is issued", "sequencer/bounds.go", "slot >= g.low.Load() && !fork.Copied()",
		"slot >= g.low.Load()", []string{"./sequencer", "-run", "Fork"}},
}
