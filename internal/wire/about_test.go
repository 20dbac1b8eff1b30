package wire_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/wire"
)

func TestAboutIsBounded(t *testing.T) {
	many := map[string]string{}
	for i := range wire.MaxLabels + 1 {
		many[fmt.Sprint(i)] = ""
	}
	long := map[string]string{}
	for i := range 5 {
		long[fmt.Sprint(i)] = strings.Repeat("x", wire.MaxLabelValue)
	}
	for what, test := range map[string]struct {
		about *wire.About
		part  string // of the error; "" for none
	}{
		"none":  {nil, ""},
		"empty": {&wire.About{}, ""},
		"usual": {&wire.About{Build: "v1.2.0", Labels: map[string]string{"k8s.io/pod": "shop-1", "pid": "17",
			"t\u0065am": "caf\u00e9 1"}}, ""},
		"a long build":       {&wire.About{Build: strings.Repeat("v", wire.MaxBuild+1)}, "at most 64 bytes"},
		"a build of 2 lines": {&wire.About{Build: "a\nb"}, "printable"},
		"many labels":        {&wire.About{Labels: many}, "17 labels; give at most 16"},
		"an empty key":       {&wire.About{Labels: map[string]string{"": "x"}}, "1 to 63 letters"},
		"a foul key":         {&wire.About{Labels: map[string]string{"a b": "x"}}, `"a b"`},
		"a long value": {&wire.About{Labels: map[string]string{"a": strings.Repeat("x", wire.MaxLabelValue+1)}},
			"at most 128 bytes"},
		"a foul value": {&wire.About{Labels: map[string]string{"a": "\x1b[2J"}}, "printable"},
		"no UTF-8":     {&wire.About{Labels: map[string]string{"a": "\xff"}}, "printable"},
		"long labels":  {&wire.About{Labels: long}, "give at most 512"},
	} {
		err := test.about.Check()
		if (err == nil) != (test.part == "") || err != nil && (!strings.Contains(err.Error(), test.part) ||
			!errors.Is(err, wire.ErrBadRequest)) {
			t.Errorf("%s: %v, want %q", what, err, test.part)
		}
	}
}

// TestPagesFitABody: a page of the longest rows has less than MaxBody bytes.
func TestPagesFitABody(t *testing.T) {
	labels := map[string]string{}
	for i := range wire.MaxLabels {
		labels[fmt.Sprintf("%c%s", 'a'+i, strings.Repeat("k", 15))] = strings.Repeat("\u00e9", 8)
	}
	if err := wire.CheckLabels(labels); err != nil {
		t.Fatal(err)
	}
	var holders wire.HoldersResponse
	var sequencers wire.SequencersResponse
	for range wire.MaxPage {
		holders.Holders = append(holders.Holders, wire.HolderRow{
			Node: 8191, Holder: "0123456789abcdef0123456789abcdef", Shown: 15000,
			Addr: "[2001:db8:ffff:ffff:ffff:ffff:ffff:ffff]:65535", Build: strings.Repeat("v", wire.MaxBuild), Labels: labels,
		})
		sequencers.Sequencers = append(sequencers.Sequencers, wire.SequencerRow{
			Name: strings.Repeat("\u00e9", 127), Owner: "0123456789abcdef-0123456789abcdef", OwnerName: strings.Repeat("n", 63),
			IDs: 1 << 62, Waits: 1 << 62, Recent: 123456789.0123456,
		})
	}
	for _, page := range []any{holders, sequencers} {
		for _, kind := range []string{wire.MsgPack, wire.JSON} {
			if body, err := wire.Encode(kind, page); err != nil || len(body) >= wire.MaxBody {
				t.Errorf("%T as %s has %d bytes, want less than %d: %v", page, kind, len(body), wire.MaxBody, err)
			}
		}
	}
}
