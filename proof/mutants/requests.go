package main

// The tests of decoding, of the HTTP API and of what its users are told.
var (
	wireTests   = []string{"./grid/wire"}
	answerTests = []string{"./client", "-run", "OfALater"}
	inputTests  = []string{"./grid", "-run", "OfALater|Identity"}
)

// requestMutants weaken what is promised about requests, answers and stored files.
var requestMutants = []mutant{
	{"decoding", "an added field of an answer is refused", "client/transport.go", "wire.DecodeTolerant(wire.MsgPack, data, out)", "wire.Decode(wire.MsgPack, data, out)", answerTests},
	{"decoding", "an added field of an error is refused", "client/transport.go", "wire.DecodeTolerant(wire.MsgPack, body, &e)", "wire.Decode(wire.MsgPack, body, &e)", answerTests},
	{"decoding", "an added field of a member's call is refused", "grid/calls.go", "wire.DecodeRequest(kind, body, &in)", "wire.Decode(kind, body, &in)", inputTests},
	{"decoding", "a misspelled field of a person's request is ignored", "grid/calls.go", "wire.DecodeRequest(kind, body, &in)", "wire.DecodeTolerant(kind, body, &in)", inputTests},
	{"decoding", "an added field in gossip makes a member unknown", "grid/gossip.go", "wire.DecodeTolerant(wire.MsgPack, n.Meta, &p)", "wire.Decode(wire.MsgPack, n.Meta, &p)", inputTests},
	{"decoding", "an added field of an event ends the stream", "grid/wire/codec.go", "	err := DecodeTolerant(MsgPack, data, &e)\n", "	err := Decode(MsgPack, data, &e)\n", wireTests},
	{"decoding", "an unknown field of a roster command is ignored", "grid/wire/codec.go", "	err := Decode(MsgPack, data, &c)\n", "	err := DecodeTolerant(MsgPack, data, &c)\n", wireTests},
	{"decoding", "an unknown field of a snapshot is ignored", "grid/wire/roster.go", "if err := Decode(MsgPack, data, r); err != nil {", "if err := DecodeTolerant(MsgPack, data, r); err != nil {", wireTests},
	{"formats", "an identity of a later format is read", "grid/identity.go", "wire.CheckFormat(head.Format, identityFormat)", "wire.CheckFormat(min(head.Format, identityFormat), identityFormat)", inputTests},
	{"formats", "the identity file may hold more than what its checksum covers", "grid/identity.go", "err != nil || !bytes.Equal(again, data) {", "err != nil || bytes.Equal(again, nil) {", inputTests},
}
