package wire_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/member"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

const incarnation = "00112233445566aa-ffeeddccbbaa0099"

func pointer[T any](v T) *T { return &v }

func someClaim() wire.Claim {
	return wire.Claim{
		Sequencer: wire.Sequencer{Name: "orders ✓", Epoch: 1767225600000, Nodes: 8192, Life: attachment.Life{1, 255},
			Born: attachment.Revision{Term: 3, Number: 1 << 60}},
		ID: attachment.ID{9: 7}, Node: pointer(sequencer.NodeID(8191)),
		Grid: roster.GridID{2, 3}, Version: 12, Until: 1767225615000,
	}
}

func someIdentity() wire.Identity {
	return wire.Identity{Cluster: "c", Set: "web ✓", ID: 3, Incarnation: 12}
}

func someNumbered() wire.IdentityMember {
	return wire.IdentityMember{ID: 3, Addr: "a:1", Incarnation: 9, State: "registered", Alive: new(true),
		Member: "00112233445566aa", Role: "leader"}
}

func someSettings() roster.Settings {
	return roster.Settings{Name: "snowgrid", Partitions: 3, Backups: 1, Window: 15000}
}

func someMember(name string) roster.Member {
	return roster.Member{Incarnation: roster.Incarnation(name), API: "10.0.0.1:7948", Raft: "10.0.0.1:7947",
		Gossip: "[::1]:7946", Durable: true}
}

// messages holds one value of every message, with every field set, and some
// with every field empty.
func messages() []any {
	stamp := wire.Stamp{Grid: roster.GridID{1}, Version: 1 << 40, Time: 1767225600123}
	claim := someClaim()
	return []any{
		wire.Error{Code: "not_found", Message: "no such thing", Version: 3},
		wire.Error{Code: "id_refused", CodeLegacy: 2014, Next: 5},
		wire.AttachRequest{Identity: pointer(someIdentity())}, wire.RenewRequest{Identity: pointer(someIdentity())},
		wire.IdentityNextRequest{Cluster: "c", Name: "web", Relay: wire.Relay{AskedBy: "10.0.0.1:1", Forwarded: true}},
		wire.IdentityNextResponse{Next: 1 << 53},
		wire.IdentityApplyRequest{Cluster: "c", Name: "web", ID: 3, Code: numbers.Code{7}, Addr: "a:1"},
		wire.IdentityApplyResponse{ID: 3, Next: 4},
		wire.IdentityRegisterRequest{
			Cluster: "c", Name: "web", ID: 3, Code: numbers.Code{7}, Addr: "a:1", Protocol: 2, Start: numbers.Code{8},
			Incarnation: 9, Member: "00112233445566aa", Nodes: map[string]sequencer.NodeID{"orders": 17},
		}, wire.IdentityRegisterRequest{},
		wire.IdentityRegisterResponse{Incarnation: 9, AgainMS: 5000, Members: []wire.IdentityMember{someNumbered(), {}},
			Nodes: map[string]sequencer.NodeID{"orders": 17}},
		wire.IdentityCleanRequest{Cluster: "c", Name: "web", IDs: []uint64{1, 2}, Force: true},
		wire.IdentityCleanResponse{Removed: []uint64{2}},
		wire.IdentityImportRequest{Cluster: "c", Name: "web", Next: 9,
			Members: []numbers.Application{{ID: 3, Code: numbers.Code{7}, Addr: "a:1"}, {ID: 4}}},
		wire.IdentityImportResponse{Next: 9, Members: 2},
		wire.IdentityListRequest{Cluster: "c", Name: "web", After: 7}, wire.IdentityListRequest{},
		wire.IdentityListResponse{Sets: []wire.IdentitySet{{Cluster: "c", Name: "web", Next: 9, Count: 2,
			Members: []wire.IdentityMember{someNumbered()}, More: true}, {}}},
		wire.CreateRequest{Name: "orders", Epoch: new(int64(-5)), Nodes: 128},
		wire.CreateRequest{Name: "orders", Layout: wire.Layout(sequencer.JSSafe())}, wire.CreateRequest{Name: "orders"},
		wire.CreateRequest{Name: "orders", NodeRange: wire.NodeRange{Lo: 1, Hi: 8191}},
		wire.OpenRequest{Name: "orders"},
		wire.CreateRequest{Name: "orders", Attach: &wire.CreateAttach{Holder: "h", ID: claim.ID, Node: claim.Node,
			Previous: &claim.ID, Identity: pointer(someIdentity())}},
		wire.RelayCreateRequest{
			Caller: &wire.Caller{Role: security.Holder, Names: []security.Pattern{"orders-*"}, Name: "web", ID: "cert:12",
				Remote: "10.0.0.1:1"},
			Create: wire.CreateRequest{Name: "orders", Attach: &wire.CreateAttach{Holder: "h", ID: claim.ID}},
		}, wire.RelayCreateRequest{},
		wire.SequencerResponse{Stamp: stamp, Sequencer: claim.Sequencer},
		wire.SequencerResponse{Stamp: stamp, Sequencer: claim.Sequencer,
			Attached: &wire.Attached{Node: 8191, Grant: attachment.Grant{From: 5, Until: 9}}},
		wire.SequencerResponse{Stamp: stamp, Sequencer: claim.Sequencer,
			Attached: &wire.Attached{Error: &wire.Error{Code: "no_free_node", Message: "all taken"}}},
		wire.AttachRequest{Holder: "h", Claim: claim}, wire.AttachRequest{},
		wire.AttachResponse{Stamp: stamp, Node: 8191, Grant: attachment.Grant{From: 5, Until: 9}},
		wire.RenewRequest{Holder: "h", Claims: []wire.Claim{claim, {}}}, wire.RenewRequest{},
		wire.RenewResponse{Stamp: stamp, Results: []wire.RenewResult{
			{Grant: attachment.Grant{From: -1, Until: 1 << 62}}, {Error: &wire.Error{Code: "destroyed", Message: "gone"}},
		}},
		wire.DetachRequest{Holder: "h", Sequencer: claim.Sequencer, ID: claim.ID, Node: 300, LastUsed: 77},
		wire.DestroyRequest{Name: "orders", Life: claim.Sequencer.Life}, wire.Done{Stamp: stamp},
		wire.EventsRequest{Holder: "h"}, wire.Event{Name: "orders", Life: attachment.Life{5}}, wire.Event{},
		wire.DirectoryRequest{}, wire.DirectoryRequest{Partition: 7, NotAt: "a:1", Wait: 400,
			Known: &wire.DirectoryVersion{Grid: roster.GridID{1}, Version: 7}},
		wire.DirectoryResponse{Stamp: stamp, Window: 15000, Members: []wire.Address{{Incarnation: incarnation, API: "a:1"}},
			Owners: []int{0, -1, 0}},
		wire.IDsRequest{Name: "orders", N: new(1000)}, wire.IDsRequest{Name: "orders",
			Create: &wire.IDsCreate{Epoch: new(int64(7)), Nodes: 128}},
		wire.IDsRequest{Name: "orders", Create: &wire.IDsCreate{Layout: wire.Layout(sequencer.Twitter()),
			NodeRange: wire.NodeRange{Hi: 5}}},
		wire.GrantRequest{Name: "orders", Create: &wire.IDsCreate{Layout: wire.Layout(sequencer.Twitter())}, Low: 5,
			Used: wire.GrantUsed{IDs: 7, Waits: 8}}, wire.GrantRequest{Grant: "g1.x"},
		wire.GrantResponse{Grant: "g1.x", Replaced: true, Node: 9, Epoch: -5, TimeShift: 23, NodeShift: 10, Counters: 1024,
			From: 1, Until: 2, Now: 3, RenewIn: 4, Ends: 5},
		wire.GrantRelease{Grant: "g1.x", Last: new(clustertime.Tick(0)), Used: wire.GrantUsed{IDs: 1}}, wire.GrantReleased{},
		wire.RelayGrantRequest{Caller: &wire.Caller{Role: security.Holder}, Grant: &wire.GrantRequest{Name: "orders"}},
		wire.RelayGrantRequest{Release: &wire.GrantRelease{Grant: "g1.x"}},
		wire.IDsResponse{IDs: []sequencer.ID{0, 1<<63 - 1}},
		wire.StatusRequest{Local: true},
		wire.SettledResponse{Settled: true, Reason: "r", Version: 3},
		wire.HelloRequest{},
		wire.HelloResponse{Incarnation: incarnation, Grid: stamp.Grid, Version: 2, AttemptedGrid: stamp.Grid,
			Settings: someSettings(), Leader: "x", Wall: 6},
		wire.AcceptRequest{BootstrapMember: "00112233445566aa", Grid: stamp.Grid, Settings: someSettings()},
		wire.AcceptResponse{Member: "00112233445566aa", Durable: true},
		wire.JoinRequest{Member: someMember(incarnation), Server: "s"},
		wire.LeaveRequest{Incarnation: incarnation, Server: "s"},
		wire.EarlierRequest{Until: 99}, wire.MemberResponse{Version: 8},
		wire.RenewRequest{Holder: "h", Grid: stamp.Grid,
			Sets: []wire.ClaimSet{{Partition: 3, Count: 2, Print: attachment.Fingerprint{}}, {}}},
		wire.RenewResponse{Sets: []clustertime.Tick{5, 0}},
		member.ReplicateRequest{Partition: 7, Version: 9, Position: backup.Position{Term: 8, Number: 3}, Pages: 2, Page: 1,
			Table: pointer(someTable())},
		member.ReplicateRequest{Since: 2, Changes: []member.Table{{Forgotten: []string{"gone"}}, someTable()}},
		member.ReplicateResponse{Held: backup.Position{Term: 8, Number: 3}, Stored: backup.Position{Term: 8, Number: 2},
			Newest: 9, Gap: true},
		wire.HeldRequest{Owner: incarnation, Held: []roster.Holding{{}, {}},
			Persisted: []roster.Persisted{{Partition: 3, Version: 4}, {}}},
		member.StoredRequest{Replica: incarnation,
			Stored: []member.Stored{{Partition: 7, Position: backup.Position{Term: 8, Number: 3}}, {}}},
		member.StoredResponse{},
		member.CollectRequest{Partition: 7, Term: 9, Lost: 8, After: "orders", Revision: 12},
		member.CollectResponse{Revision: 12, Definitions: someDefinitions(), More: true},
		wire.InitRequest{Force: true, Floor: 5}, wire.InitResponse{Grid: stamp.Grid, Members: 3, First: 7},
		wire.TakeRequest{Relay: wire.Relay{AskedBy: "10.0.0.1:1", Forwarded: true}},
		wire.AbandonRequest{Old: stamp.Grid, Grid: roster.GridID{2}, BootstrapMember: "00112233445566aa", Expect: 2},
		wire.AbandonResponse{Ceiling: 3, Time: 2, Window: 1},
	}
}

func someDefinitions() member.Definitions {
	return member.Definitions{Base: 4, Records: []member.Definition{
		{Sequencer: someClaim().Sequencer},
		{Sequencer: wire.Sequencer{Name: "z", Nodes: 128, Life: attachment.Life{6}}, Destroyed: true, Mark: 9},
		{Sequencer: wire.Sequencer{Name: "zz", Nodes: 16, Layout: wire.Layout(sequencer.JSSafe()), Life: attachment.Life{8},
			NodeRange: wire.NodeRange{Lo: 3, Hi: 15}}},
	}}
}

func someTable() member.Table {
	return member.Table{Base: 4, Complete: true, Records: []member.Record{{
		Sequencer: someClaim().Sequencer, Destroyed: true, Mark: 3, Free: 5,
		Slots: []partition.SlotState{{Node: 1, ID: attachment.ID{7}, From: 2, Free: 6}, {Node: 8191}},
	}}}
}

// decodeLike decodes into a new value of the type of v.
func decodeLike(v any, kind string, data []byte) (any, error) {
	return decodeWith(wire.Decode, v, kind, data)
}

// decodeWith is decodeLike with one of the decoders.
func decodeWith(decode func(kind string, data []byte, v any) error, v any, kind string, data []byte) (any, error) {
	p := reflect.New(reflect.TypeOf(v))
	err := decode(kind, data, p.Interface())
	return p.Elem().Interface(), err
}

func TestMessagesRoundTrip(t *testing.T) {
	for _, kind := range kinds {
		for _, v := range messages() {
			data, err := wire.Encode(kind, v)
			if err != nil {
				t.Fatalf("%T: %v", v, err)
			}
			got, err := decodeLike(v, kind, data)
			if err != nil || !reflect.DeepEqual(got, v) {
				t.Errorf("%s: %#v arrived as %#v, %v", kind, v, got, err)
			}
		}
	}
}

// TestFieldsAreTheSameInBothEncodings: the embedded Stamp is part of the message
// itself, identities are text, IDs are text in JSON.
func TestFieldsAreTheSameInBothEncodings(t *testing.T) {
	v := wire.AttachResponse{Stamp: wire.Stamp{Grid: roster.GridID{0xab}, Version: 1, Time: 2}, Node: 3,
		Grant: attachment.Grant{From: 4, Until: 5}}
	grid := "ab" + strings.Repeat("0", 30)
	inJSON, err := wire.Encode(wire.JSON, v)
	if want := `{"grid":"` + grid + `","version":1,"time":2,"node":3,"grant":{"from":4,"until":5}}`; err != nil ||
		string(inJSON) != want {
		t.Errorf("JSON is %s, %v; want %s", inJSON, err, want)
	}
	inMsgPack, err := wire.Encode(wire.MsgPack, v)
	want := "\x85\xa4grid\xc4\x20" + grid + "\xa7version\x01\xa4time\x02\xa4node\x03\xa5grant\x82\xa4from\x04\xa5until\x05"
	if err != nil || string(inMsgPack) != want {
		t.Errorf("msgpack is %q, %v; want %q", inMsgPack, err, want)
	}
	ids, err := wire.Encode(wire.JSON, wire.IDsResponse{IDs: []sequencer.ID{12}})
	if err != nil || string(ids) != `{"ids":["12"]}` {
		t.Errorf("IDs are %s, %v", ids, err)
	}
	for _, kind := range kinds {
		data, err := wire.Encode(kind, wire.Claim{})
		if err != nil || !bytes.Contains(data, []byte(strings.Repeat("0", 32))) {
			t.Errorf("%s: a claim is %q, %v", kind, data, err)
		}
	}
}

func TestSequencerRef(t *testing.T) {
	def, err := sequencer.Define("orders", sequencer.Config{Epoch: epoch.Twitter, Nodes: 1000})
	if err != nil {
		t.Fatal(err)
	}
	ref := attachment.Ref{Definition: def, Life: attachment.Life{4}, Born: attachment.Revision{Term: 1, Number: 2}}
	if got, err := wire.SequencerOf(ref).Ref(); err != nil || got != ref {
		t.Errorf("%+v became %+v, %v", ref, got, err)
	}
	ref.Definition, err = sequencer.Define("orders", sequencer.Config{Layout: sequencer.JSSafe(), Nodes: 17,
		NodeRange: sequencer.NodeRange{Lo: 16, Hi: 30}})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{wire.JSON, wire.MsgPack} {
		data, err := wire.Encode(kind, wire.SequencerOf(ref))
		if err != nil {
			t.Fatal(err)
		}
		var s wire.Sequencer
		if err := wire.Decode(kind, data, &s); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Ref(); err != nil || got != ref {
			t.Errorf("%s: %+v became %+v, %v", kind, ref, got, err)
		}
		request := wire.CreateRequestOf(ref.Definition)
		if again, err := sequencer.Define("orders", request.Config()); err != nil || again != ref.Definition {
			t.Errorf("a request for %v asks for %v, %v", ref.Definition, again, err)
		}
		if plain, err := wire.Encode(kind, wire.Sequencer{Name: "a", Nodes: 128}); err != nil ||
			bytes.Contains(plain, []byte("layout")) || bytes.Contains(plain, []byte("node_range")) {
			t.Errorf("%s: the zero layout or range takes room in %q, %v", kind, plain, err)
		}
	}
	for _, s := range []wire.Sequencer{{}, {Name: "a\n"}, {Name: "a", Nodes: -1}, {Name: "a", Nodes: 8193},
		{Name: "a", Nodes: 15, Layout: wire.Layout(sequencer.Twitter())}, {Name: "a", Layout: wire.Layout{Bits: 53}},
		{Name: "a", Epoch: -1}, {Name: "a", Epoch: 1 << 62},
		{Name: "a", Nodes: 128, NodeRange: wire.NodeRange{Lo: 5, Hi: 128}},
		{Name: "a", NodeRange: wire.NodeRange{Lo: 5, Hi: 4}}} {
		if _, err := s.Ref(); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
}

func TestCheckHolder(t *testing.T) {
	for n, ok := range map[int]bool{0: false, 1: true, wire.MaxHolder: true, wire.MaxHolder + 1: false} {
		if err := wire.CheckHolder(attachment.HolderID(strings.Repeat("h", n))); (err == nil) != ok {
			t.Errorf("a holder of %d bytes: %v", n, err)
		}
	}
}

// TestLargestMessagesFit: a message within the limits on elements is not refused for its
// size.
func TestLargestMessagesFit(t *testing.T) {
	claim := someClaim()
	claim.Sequencer.Name = strings.Repeat("n", 255)
	directory := wire.DirectoryResponse{Owners: make([]int, roster.MaxPartitions)}
	for range 1000 {
		directory.Members = append(directory.Members, wire.Address{Incarnation: incarnation, API: strings.Repeat("a", 255)})
	}
	claims := make([]wire.Claim, wire.MaxClaims)
	for i := range claims {
		claims[i] = claim
	}
	for _, v := range []any{wire.RenewRequest{Holder: attachment.HolderID(strings.Repeat("h", wire.MaxHolder)),
		Claims: claims}, directory} {
		data, err := wire.Encode(wire.MsgPack, v)
		if err != nil || len(data) > wire.MaxBody {
			t.Errorf("%T has %d bytes, %v", v, len(data), err)
		}
		if _, err := decodeLike(v, wire.MsgPack, data); err != nil {
			t.Errorf("%T: %v", v, err)
		}
	}
}
