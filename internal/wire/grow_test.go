package wire_test

import (
	"github.com/snowgrid/snowgrid/internal/long"
	"runtime"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/member"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// allocated returns how many bytes of memory f asks for.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestDecodeAllocatesInProportion spoils every message in ways that announce or
// imply more than the bytes hold, and bounds what any decoder asks for.
func TestDecodeAllocatesInProportion(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	const slack = 8 * mebi // for the elements that JSON allows
	for what, text := range map[string]string{
		"msgpack, lists of empty values": nested("\xdc\x27\x10", "\x80", ""),
		"msgpack, lists of nil":          nested("\xdc\x27\x10", "\xc0", ""),
		"JSON, lists of empty values":    "{" + `"changes":[{"records":[` + strings.Repeat("{},", 300_000) + `{}]}]}`,
		"JSON, many lists of nulls": `{"changes":[` + strings.Repeat(`{"records":[null`+strings.Repeat(",null",
			999)+`]},`, 100) + `{}]}`,
		"a text": "\x81\xa4name\xdb\x00\x0f\x00\x00" + strings.Repeat("x", 0xf0000),
	} {
		for _, kind := range kinds {
			for _, v := range messages() {
				n := allocated(func() { _, _ = decodeLike(v, kind, []byte(text)) })
				if bound := 5*uint64(len(text)) + slack; n > bound {
					t.Errorf("%s: %T in %s takes %d bytes of memory for %d, more than %d", what, v, kind, n, len(text), bound)
				}
			}
		}
	}
}

// TestEmptyValuesThatAreSent: the emptiest messages that snowgrid itself sends are
// accepted.
func TestEmptyValuesThatAreSent(t *testing.T) {
	settings := roster.Settings{Name: "g", Partitions: roster.MaxPartitions, Window: 15000}
	formed, err := new(roster.Roster).Apply(roster.Command{Form: &roster.Form{Grid: roster.GridID{1}, Settings: settings}})
	if err != nil {
		t.Fatal(err)
	}
	data, err := wire.EncodeRoster(formed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wire.DecodeRoster(data); err != nil {
		t.Errorf("a roster without owners: %v", err)
	}
	ones := make([]roster.Loss, 1000)
	for _, v := range []any{
		wire.RenewRequest{Claims: make([]wire.Claim, wire.MaxClaims), Sets: make([]wire.ClaimSet, roster.MaxPartitions)},
		wire.RenewResponse{Sets: make([]clustertime.Tick, wire.MaxElements),
			Results: make([]wire.RenewResult, wire.MaxClaims)},
		wire.DirectoryResponse{Members: make([]wire.Address, wire.MaxMembers), Owners: make([]int, wire.MaxElements)},
		wire.IDsResponse{IDs: make([]sequencer.ID, wire.MaxIDs)},
		wire.HeldRequest{Held: make([]roster.Holding, 1000)},
		member.ReplicateRequest{Changes: make([]member.Table, member.MaxChanges)},
		member.ReplicateRequest{Table: &member.Table{Records: []member.Record{{Slots: make([]partition.SlotState, 8192)}}}},
		member.ReplicateRequest{Table: &member.Table{Records: make([]member.Record, 1000), Forgotten: make([]string, 100)}},
		roster.Command{Change: &roster.Change{Lose: ones, Add: make([]roster.Replica, 1000),
			Join: make([]roster.Member, 100)}},
	} {
		for _, kind := range kinds {
			data, err := wire.Encode(kind, v)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := decodeLike(v, kind, data); err != nil {
				t.Errorf("%T in %s: %v", v, kind, err)
			}
		}
	}
}

// nested returns a replicate request whose changes have as many records as lists
// may have, each of one byte.
func nested(list, element, end string) string {
	records := "\x81\xa7records" + list + strings.Repeat(element, wire.MaxElements) + end
	return "\x81\xa7changes\xdc\x00\x64" + strings.Repeat(records, 100)
}
