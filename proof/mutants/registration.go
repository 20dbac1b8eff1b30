package main

var (
	machineTests   = []string{"./internal/identity"}
	successorTests = []string{"./partition", "-run", "Successor"}
	numberedTests  = []string{"./client", "-run", "TestNoGrantBefore|TestNumberThat|TestRenewalOfAFenced"}
	restartTests   = []string{"./grid/gridtest", "-run", "TestRestartedClient|TestCopiedDirectory|TestOwnersRefuse"}
)

// registrationMutants weaken the rules for a process that has a number, or gets one:
//
//	P1  an application is stored before it is sent, and removed after the number is stored
//	P2  only an explicit refusal removes an application
//	P3  a file that cannot be read, or is of another set, is an error, and stays as it is
//	P4  a process that is not registered, or is fenced, has no grant
//	P5  a restarted process gets its logical node above everything that was granted of it
var registrationMutants = []mutant{
	{"P1", "an application is sent before it is stored", "internal/identity/machine.go",
		"	case m.state == Initial:\n		return storeApplication", "	case m.state == Initial:\n		return apply", machineTests},
	{"P1", "the application is removed before the number is stored", "internal/identity/machine.go",
		"	case m.state == Applying && m.accepted:\n		return storeNumber",
		"	case m.state == Applying && m.accepted && m.stored:\n		return removeApplication", machineTests},
	{"P1", "an application that is stored is not repeated", "internal/identity/machine.go",
		"		m.state, m.number = Applying, *files.Application", "		m.number = Number{}", machineTests},
	{"P1", "the application wins over the number", "internal/identity/machine.go", "	case files.Number != nil:",
		"	case files.Number != nil && files.Application == nil:", machineTests},
	{"P1", "a crash leaves half a file", "internal/durable/durable.go", "Write(path+scratch, data, 0o600)",
		"Write(path, data, 0o600)", []string{"./internal/durable"}},
	{"P2", "any failure removes the application", "internal/identity/machine.go",
		"a == apply && errors.Is(r.err, numbers.ErrIDRefused):", "a == apply:", machineTests},
	{"P2", "a refused application is sent again", "internal/identity/machine.go",
		"	case m.state == Applying && m.refused:\n		return removeApplication\n", "", machineTests},
	{"P3", "a damaged file counts as none", "internal/identity/files.go",
		"	case err != nil:\n		return false, invalid(\"%s is damaged",
		"	case err != nil && len(data) == 0:\n		return false, invalid(\"%s is damaged", machineTests},
	{"P3", "a checksum of other content is ignored", "internal/durable/sealed.go",
		"	if crc32.ChecksumIEEE(s.Content) != s.CRC32 {", "	if crc32.ChecksumIEEE(s.Content) != s.CRC32 && len(data) == 0 {",
		machineTests},
	{"P3", "the directory of another set is taken", "internal/identity/identity.go", "have.Set != configured.Name {",
		"have.Set != configured.Name && have.ID == 0 {", machineTests},
	{"P3", "two processes use a directory", "internal/identity/files.go", "err == nil && !taken {",
		"err == nil && !taken && file == nil {", machineTests},
	{"P4", "a client attaches before it has its number", "client/identity.go", "Number.Await(ctx, false); err != nil {",
		"Number.Await(ctx, false); err != nil && c == nil {", numberedTests},
	{"P4", "requests do not show the number", "client/renew.go", " Identity: identity,", "", numberedTests},
	{"P4", "a refused renewal does not end the handles", "client/identity.go", "	c.process.Number.Refused(*id, err)\n", "",
		numberedTests},
	{"P4", "a fenced process creates further sequencers", "client/call.go",
		"sequencer.ErrFenced) && path != wire.PathDetach {", "sequencer.ErrFenced) && path == wire.PathDetach {",
		restartTests},
	{"P4", "a refusal of an earlier registration fences", "internal/identity/registrar.go",
		"	case id.Incarnation != r.machine.incarnation ||", "	case id.Incarnation > r.machine.incarnation ||", machineTests},
	{"P4", "an owner serves every incarnation", "grid/internal/host/renew.go",
		"	if err := h.checkIdentity(in.Identity); err != nil {", "	if err := h.checkIdentity(nil); err != nil {",
		restartTests},
	{"P4", "an owner attaches every incarnation", "grid/internal/host/calls.go", "	return d.checkIdentity(in.Identity)\n",
		"	return d.checkIdentity(nil)\n", restartTests},
	{"P5", "a successor begins where its grants were counted, not where they were renewed", "partition/attach.go",
		"c.Node, c.Previous, until)", "c.Node, c.Previous, until*0)", successorTests},
	{"P5", "a successor takes the node of any attachment", "partition/attach.go",
		"	if m.table.Expire(name, c.Node, c.Previous, until) {", "	for i := range m.table.records[name].Slots {\n		if s := " +
			"&m.table.records[name].Slots[i]; s.Node == c.Node {\n			c.Previous = s.ID\n		}\n	}\n	if m.table.Expire(name, " +
			"c.Node, c.Previous, until) {", successorTests},
	{"P5", "the session of an earlier process continues", "partition/attach.go", "		m.sessions.Drop(name, c.Previous)\n",
		"", successorTests},
	{"P5", "a successor takes a node that an owner has yet to be shown", "partition/attach.go",
		"(c.Any || !c.Previous.IsZero()) &&", "c.Any &&", successorTests},
	{"P5", "the logical nodes are forgotten", "client/backend.go", "	if p.Any {\n		p, previous",
		"	if !p.Any {\n		p, previous", restartTests},
}
