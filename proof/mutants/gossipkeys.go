package main

var (
	sealedTests   = []string{"./grid/internal/transport", "-run", "Sealed|AKey|Keyring"}
	everyMessage  = []string{"./grid", "-run", "TestEveryMessage|TestGreetingsEnd"}
	keyringTests  = []string{"./grid/gridtest", "-run", "TestGossipKey|TestKeyring"}
	changeTests   = []string{"./grid", "-run", "TestChangedRing|TestKeyringAdvice"}
	twoChanges    = []string{"./grid/gridtest", "-run", "TestKeyringChangesTogether"}
	earlierKey    = []string{"./grid/gridtest", "-run", "TestMembersWithAnEarlierKey"}
	alteredReplay = []string{"./grid/gridtest", "-run", "TestAlteredReplay"}
)

// gossipKeyMutants weaken the gossip keys and the checks on gossip messages.
var gossipKeyMutants = []mutant{
	{"K1", "a datagram in clear text is believed with a key", "grid/internal/transport/gossip.go",
		"		if plain, err = t.cfg.Keys.openPacket(b, t.cfg.Grid); err != nil {",
		"		if plain, err = t.cfg.Keys.openPacket(b, t.cfg.Grid); err != nil && len(b) == 0 {", sealedTests},
	{"K1", "a datagram with the label of another grid is opened", "grid/internal/transport/keyring.go",
		"	return k.open(sealed, []byte(label))", "	return k.open(sealed, nil)", sealedTests},
	{"K1", "a message in a version that no member has", "grid/internal/transport/keyring.go",
		"len(b) < sealedMin || b[0] != sealedVersion", "len(b) < sealedMin", sealedTests},
	{"K1", "a recorded message in another version", "grid/internal/transport/keyring.go",
		"len(b) < sealedMin || b[0] != sealedVersion", "len(b) < sealedMin", alteredReplay},
	{"K1", "a key opens only as the first", "grid/internal/transport/keyring.go",
		"	for _, key := range *k.current.Load() {\n		if plain", "	for _, key := range (*k.current.Load())[:1] {\n		if plain",
		sealedTests},
	{"K1", "the content of a sealed datagram is not checked", "grid/internal/transport/gossip.go",
		"	return err == nil\n}\n\n// refuse", "	return err == nil || t.cfg.Keys != nil && len(plain) > 0\n}\n\n// refuse",
		everyMessage},
	{"K1", "the content of a sealed stream is not checked", "grid/internal/transport/gossipstream.go",
		"bytes.NewReader(frame.read), checkContent(frame.plain)", "bytes.NewReader(frame.read), nil", everyMessage},
	{"K1", "large messages are read without a limit", "grid/internal/transport/sealedstream.go", "	if size > frameSmall {",
		"	if size > gossipStreamMax {", []string{"./grid/internal/transport", "-run", "TestLargeFrames"}},
	{"K2", "a greeting ends a member that has a key", "grid/internal/gossip/rejoin.go", "	case g.keys != nil:\n",
		"	case g.keys == nil && err.Addr == \"\":\n", everyMessage},
	{"K2", "a member is not told that its key differs", "grid/internal/transport/sealedstream.go",
		"	_, _ = s.Write(unopened())\n", "	_ = unopened\n", sealedTests},
	{"K3", "the keys of the file are not applied to the running gossip", "grid/keyring.go",
		"		k.apply(next, \"the file\")\n", "		_ = next\n", keyringTests},
	{"K3", "a change in memory is undone by a reload of other files", "grid/keyring.go",
		"	if sameKeys(next, k.known) {\n		return\n	}\n	k.known = next",
		"	if sameKeys(next, k.gossip.Keys()) {\n		return\n	}\n	k.known = next", keyringTests},
	{"K3", "a change is not written to the file", "grid/keyring.go", "	if file == \"\" || sameKeys(k.known, keys) {",
		"	if file != \"-\" {", keyringTests},
	{"K3", "a file that was changed by hand is written over", "grid/keyring.go",
		"	if k.source != nil && in.Operation != wire.KeyringList {", "	if false {", keyringTests},
	{"K4", "a key is used without every member having it", "grid/keyringcalls.go",
		"case operation == wire.KeyringUse && len(lack) > 0:", "case false:", keyringTests},
	{"K4", "a key is used while the keys of a member are not known", "grid/keyringcalls.go",
		"	case len(silent) > 0:\n		return", "	case false:\n		return", keyringTests},
	{"K4", "a key is removed that a member encrypts with", "grid/keyringcalls.go",
		"case operation == wire.KeyringRemove && len(encrypt) > 0:", "case false:", keyringTests},
	{"K4", "a member removes the key that it encrypts with", "grid/keyring.go", "		case at == 0:\n", "		case at == 100:\n",
		changeTests},
	{"K4", "a key goes over calls in clear text", "grid/keyringcalls.go", "		if k.exposed {", "		if false {",
		keyringTests},
	{"K4", "a member that lacks a key is not named", "grid/keyringcalls.go",
		"if m.Error == \"\" && !slices.Contains(m.Keys, print) {", "if false {", changeTests},
	{"K4", "two changes of the keys are made at the same time", "grid/keyring.go",
		"admit(in, time.Now()); err != nil {", "admit(in, time.Now()); err != nil && false {", twoChanges},
	{"K4", "the keys stay reserved for a change that was refused", "grid/keyringcalls.go",
		"			list.Release = true\n", "", twoChanges},
	{"K5", "a member with peers is not told that the others have another key", "grid/internal/formation/notformed.go",
		"refused != nil && !errors.Is(err, refused)", "refused != nil && false", earlierKey},
	{"K5", "members that lack a key which others encrypt with are no alert", "grid/keyringalert.go",
		"lacks := without(first, keys); len(keys) > 0 &&", "lacks := without(first, keys); false &&", alertTests},
	{"K5", "members that encrypt with different keys are no alert", "grid/keyringalert.go",
		"	case len(first) < 2:", "	case len(blind) == 0:", keyringTests},
}
