package grid

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestStatusJSON: a status in JSON has the same fields, in the same order and form, as when the
// structs had internal types. testdata has two that were written then: one with every field, and one
// with as few as possible.
func TestStatusJSON(t *testing.T) {
	for _, name := range []string{"full", "sparse"} {
		want, err := os.ReadFile("testdata/status-" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var s Status
		dec := json.NewDecoder(strings.NewReader(string(want)))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&s); err != nil {
			t.Fatal(err)
		}
		got, err := json.MarshalIndent(s, "", "\t")
		if err != nil || string(got)+"\n" != string(want) {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, want)
		}
		if name == "full" {
			for _, field := range unset("Status", reflect.ValueOf(s)) {
				t.Errorf("testdata/status-full.json has no %s", field)
			}
		}
	}
}

// unset returns the fields with a zero value. Of a list it reads the last element.
func unset(name string, v reflect.Value) (out []string) {
	switch {
	case v.Kind() == reflect.Slice && v.Len() > 0 && v.Type().Elem().Kind() == reflect.Struct:
		return unset(name, v.Index(v.Len()-1))
	case v.Kind() == reflect.Pointer && !v.IsNil():
		return unset(name, v.Elem())
	case v.Kind() == reflect.Struct && v.Type().Field(0).IsExported():
		for i := range v.NumField() {
			out = append(out, unset(name+"."+v.Type().Field(i).Name, v.Field(i))...)
		}
		return out
	case v.IsZero():
		return []string{name}
	}
	return nil
}

// TestPlainFormsJSON: the plain forms of internal values look the same in JSON.
func TestPlainFormsJSON(t *testing.T) {
	none, used := 0, 3
	recovery := roster.Recovery{Old: roster.GridID{3}, At: 5, Lost: []roster.LostMember{{ID: "x", API: "y"}, {ID: "z"}},
		Forgotten: []roster.PartitionID{0, 8190}, Outdated: []roster.PartitionID{1}}
	quotas := []wire.QuotaUse{{},
		{Quota: roster.Quota{Pattern: "orders-*", Names: 1, HolderNodes: 2, PeerNodes: 3, Calls: 4},
			Used: &used}, {Quota: roster.Quota{Pattern: "a"}, Used: &none}}
	for _, form := range []struct{ internal, plain any }{
		{roster.Settings{}, settingsOf(roster.Settings{})},
		{roster.Settings{Name: "shop", Partitions: 2, Backups: 1, Window: 15_000, Voters: 5, Expect: 3},
			settingsOf(roster.Settings{Name: "shop", Partitions: 2, Backups: 1, Window: 15_000, Voters: 5, Expect: 3})},
		{roster.Release{}, releaseOf(roster.Release{})},
		{roster.Release{Min: 1, Max: 2, Build: "v1"}, releaseOf(roster.Release{Min: 1, Max: 2, Build: "v1"})},
		{&roster.Recovery{}, recoveredOf(&roster.Recovery{})},
		{&recovery, recoveredOf(&recovery)},
		{(*roster.Recovery)(nil), recoveredOf(nil)},
		{quotas, quotasOf(quotas)},
		{quotas[:0], quotasOf(quotas[:0])},
		{[]roster.Incarnation(nil), texts([]roster.Incarnation(nil))},
		{[]roster.Incarnation{}, texts([]roster.Incarnation{})},
		{[]roster.MemberID{"a", "b"}, texts([]roster.MemberID{"a", "b"})},
		{[]roster.PartitionID(nil), partitionNumbers(nil)},
		{[]roster.PartitionID{0, 8190}, partitionNumbers([]roster.PartitionID{0, 8190})},
		{clustertime.Span(-7), Milliseconds(clustertime.Span(-7))},
		{roster.GridID{1}, roster.GridID{1}.String()},
		{attachment.Life{1}, attachment.Life{1}.String()},
	} {
		want, err := json.Marshal(form.internal)
		got, plainErr := json.Marshal(form.plain)
		if err != nil || plainErr != nil || string(got) != string(want) {
			t.Errorf("%T: %s (%v), want %s (%v)", form.plain, got, plainErr, want, err)
		}
	}
}

// TestPlainFormsAreWhole: a plain form has every field of the internal one, except for the parts of a
// later protocol (roster.Upcoming).
func TestPlainFormsAreWhole(t *testing.T) {
	for _, form := range []struct{ internal, plain any }{
		{roster.Settings{}, Settings{}}, {roster.Release{}, Release{}}, {wire.QuotaUse{}, Quota{}},
		{roster.Recovery{}, RecoveryInfo{}}, {roster.LostMember{}, LostMember{}},
	} {
		if got, want := tags(form.plain), tags(form.internal); !slices.Equal(got, want) {
			t.Errorf("%T has the fields %q, want %q as %T has", form.plain, got, want, form.internal)
		}
	}
}

// tags returns the tags of a struct's fields, and of embedded ones.
func tags(of any) (out []string) {
	upcoming := -1
	for _, f := range reflect.VisibleFields(reflect.TypeOf(of)) {
		switch {
		case f.Type == reflect.TypeFor[roster.Upcoming]():
			upcoming = f.Index[0]
		case !f.Anonymous && f.Index[0] != upcoming:
			out = append(out, f.Tag.Get("json"))
		}
	}
	return out
}

// internalStatus has the fields of a status that had internal types, as members of an earlier build
// read and write them.
type internalStatus struct {
	Grid       roster.GridID   `json:"grid"`
	Version    roster.Version  `json:"version"`
	Settings   roster.Settings `json:"settings"`
	Protocol   roster.Protocol `json:"protocol"`
	Partitions []struct {
		ID     roster.PartitionID   `json:"id"`
		Owner  roster.Incarnation   `json:"owner"`
		InSync []roster.Incarnation `json:"in_sync"`
		Disks  []roster.MemberID    `json:"disks,omitempty"`
		Term   roster.Term          `json:"term"`
	} `json:"partitions"`
	Members []struct {
		Incarnation roster.Incarnation `json:"incarnation"`
		Release     *roster.Release    `json:"release,omitempty"`
		Report      *struct {
			ClockOffset clustertime.Span `json:"clock_offset_ms"`
		} `json:"report,omitempty"`
	} `json:"members"`
	Sequencers []struct {
		Life      attachment.Life    `json:"life"`
		Partition roster.PartitionID `json:"partition"`
	} `json:"sequencers"`
	Unlisted  []roster.PartitionID `json:"unlisted,omitempty"`
	Quotas    []wire.QuotaUse      `json:"quotas,omitempty"`
	Recovered *roster.Recovery     `json:"recovered,omitempty"`
}

// TestStatusOfAnEarlierBuild: members exchange their statuses in msgpack, in which a build with
// internal types writes IDs as bytes. Each reads the other's.
func TestStatusOfAnEarlierBuild(t *testing.T) {
	text, err := os.ReadFile("testdata/status-full.json")
	if err != nil {
		t.Fatal(err)
	}
	var earlier, read internalStatus
	var want, s Status
	err = errors.Join(json.Unmarshal(text, &earlier), json.Unmarshal(text, &want))
	if err != nil {
		t.Fatal(err)
	}
	exchange := func(from, to any) {
		t.Helper()
		data, err := wire.Encode(wire.MsgPack, from)
		if err == nil {
			err = wire.DecodeTolerant(wire.MsgPack, data, to)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	exchange(want, &read)
	if !reflect.DeepEqual(read, earlier) {
		t.Errorf("the earlier build reads %+v, want %+v", read, earlier)
	}
	exchange(earlier, &s)
	if s.Grid != want.Grid || s.Settings != want.Settings || s.Sequencers[0].Life != want.Sequencers[0].Life ||
		!slices.Equal(s.Partitions[0].InSync, want.Partitions[0].InSync) || !reflect.DeepEqual(s.Unlisted, want.Unlisted) ||
		!reflect.DeepEqual(s.Quotas, want.Quotas) || !reflect.DeepEqual(s.Recovered, want.Recovered) ||
		!reflect.DeepEqual(s.Members[0].Release, want.Members[0].Release) {
		t.Errorf("this build reads %+v, want %+v", s, want)
	}
}

// TestAnchorOfAMemberThatDoesNotLead: such a member has no record, whose grid is all zeros in JSON.
func TestAnchorOfAMemberThatDoesNotLead(t *testing.T) {
	o := overview{deps: &deps{anchorage: &anchorage{}, clock: handles.NewClock()}}
	got, err := json.Marshal(o.anchor(&roster.Roster{Anchored: true, Claim: "c"}))
	want := `{"claim":"c","state":"","left_ms":0,"limit":"0001-01-01T00:00:00Z","record_ceiling":"0001-01-01T00:00:00Z",` +
		`"record_grid":"00000000000000000000000000000000"}`
	if err != nil || string(got) != want {
		t.Errorf("%s (%v), want %s", got, err, want)
	}
}
