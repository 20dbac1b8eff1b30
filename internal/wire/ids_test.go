package wire_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

func TestIDsRequestCount(t *testing.T) {
	for body, want := range map[string]int{`{"name":"a"}`: 1, `{"name":"a","n":1}`: 1, `{"n":1024}`: 1024, `{"n":0}`: 0,
		`{"n":-1}`: 0, `{"n":1025}`: 0} {
		var in wire.IDsRequest
		if err := wire.DecodeRequest(wire.JSON, []byte(body), &in); err != nil {
			t.Fatal(err)
		}
		got, err := in.Count()
		if got != want || (err == nil) != (want > 0) || err != nil && !errors.Is(err, wire.ErrBadRequest) {
			t.Errorf("%s: %d, %v", body, got, err)
		}
	}
}

// TestIDsCreateLayouts: a layout is a text or an object.
func TestIDsCreateLayouts(t *testing.T) {
	for body, want := range map[string]wire.IDsCreate{
		`{}`:                      {},
		`{"layout":"default"}`:    {},
		`{"layout":"jssafe"}`:     {Layout: wire.Layout(sequencer.JSSafe())},
		`{"layout":"63/22/1024"}`: {Layout: wire.Layout(sequencer.Twitter())},
		`{"layout":"twitter"}`:    {Layout: wire.Layout(sequencer.Twitter()), Epoch: new(epoch.Twitter.UnixMilli())},
		`{"layout":"discord"}`:    {Layout: wire.Layout(sequencer.Twitter()), Epoch: new(epoch.Discord.UnixMilli())},
		`{"epoch":7,"layout":"twitter","nodes":16}`: {Layout: wire.Layout(sequencer.Twitter()), Epoch: new(int64(7)),
			Nodes: 16},
		`{"layout":{"bits":53,"low_bits":12,"nodes":64}}`: {Layout: wire.Layout(sequencer.JSSafe())},
		`{"epoch":9,"layout":{"bits":53,"low_bits":12,"nodes":64}}`: {Layout: wire.Layout(sequencer.JSSafe()),
			Epoch: new(int64(9))},
	} {
		var in wire.IDsRequest
		if err := wire.DecodeRequest(wire.JSON, []byte(`{"name":"a","create":`+body+`}`), &in); err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		got := *in.Create
		if got.Layout != want.Layout || got.Nodes != want.Nodes || (got.Epoch == nil) != (want.Epoch == nil) ||
			got.Epoch != nil && *got.Epoch != *want.Epoch {
			t.Errorf("%s is read as %+v", body, got)
		}
	}
}

// TestJSONFaults: callers who do not write Go read what is wrong with their JSON.
func TestJSONFaults(t *testing.T) {
	for body, want := range map[string]string{
		`{"n":"5"}`:                                     "n: a string where a whole number of 64 bits is expected",
		`{"n":1.5}`:                                     "n: a number 1.5 where a whole number of 64 bits is expected",
		`{"name":7}`:                                    "name: a number where a string is expected",
		`{"create":{"nodes":"x"}}`:                      "create.nodes: a string where a whole number",
		`{"create":7}`:                                  "create: a number where an object is expected",
		`{"create":{"layout":7}}`:                       "create.layout: a number where an object is expected",
		`{"create":{"layout":"twiter"}}`:                `"twiter" is not a layout: give default, twitter, discord, jssafe`,
		`{"create":{"layout":{"bit":53}}}`:              `unknown field "bit"`,
		`{"create":{"node":53}}`:                        `unknown field "node"`,
		`{"nam":"a"}`:                                   `unknown field "nam"`,
		`{"create":{"node_range":{"lo":-1,"hi":9}}}`:    "create.node_range.lo: a number -1 where a whole number",
		`{"create":{"node_range":{"lo":0,"hi":99999}}}`: "create.node_range.hi: a number 99999 where a whole number",
		`{"create":{"node_range":{"low":1}}}`:           `unknown field "low"`,
		`{"create":{"node_range":{}}}`:                  "node_range has node 0 alone",
		`{"create":{"Node_Range":{"lo":0,"hi":0}}}`:     "node_range has node 0 alone",
		`[1]`:      "an array where an object is expected",
		``:         "it is empty",
		`{"name":`: "it ends early",
		`{name:1}`: "at byte 2",
		`{} {}`:    "there is data after the value",
	} {
		var in wire.IDsRequest
		err := wire.DecodeRequest(wire.JSON, []byte(body), &in)
		if !errors.Is(err, wire.ErrBadRequest) || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "Go ") || strings.Contains(err.Error(), "json:") ||
			strings.Contains(err.Error(), "grid:") {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}
