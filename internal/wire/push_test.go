package wire_test

import (
	"reflect"
	"testing"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestBriefAnswer: it has all that changes while a process runs, and is short.
func TestBriefAnswer(t *testing.T) {
	before := wire.HelloResponse{
		Incarnation: "a-1", Grid: roster.GridID{1}, Version: 3, Wall: 1_800_000_000_000, Time: 1_800_000_000_000,
		Leaving:  false,
		Settings: roster.Settings{Name: "g", Partitions: 271}, Record: roster.Member{Incarnation: "a-1",
			API: "127.0.0.1:7946", Zone: "z"},
		Release: wire.OwnRelease(), Claim: "c",
	}
	now := before
	now.Version, now.Wall, now.Time, now.Leaving, now.DiskFailed, now.Claim = 4, 1_800_000_001_000, 1_800_000_002_000,
		true, true, "d"
	data, err := wire.Encode(wire.MsgPack, wire.PushResponse{Brief: now.Brief(), At: 7, Mono: 9})
	if err != nil {
		t.Fatal(err)
	}
	var res wire.PushResponse
	if err := wire.DecodeTolerant(wire.MsgPack, data, &res); err != nil || res.Brief == nil || res.Hello != nil {
		t.Fatalf("%+v, %v", res, err)
	}
	if got := before.With(*res.Brief); !reflect.DeepEqual(got, now) {
		t.Errorf("read as %+v, want %+v", got, now)
	}
	if len(data) > 120 {
		t.Errorf("a brief answer has %d bytes", len(data))
	}
}
