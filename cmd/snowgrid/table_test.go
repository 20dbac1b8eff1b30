package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/wire"
)

func TestListingsQuoteNamesThatCannotBeRead(t *testing.T) {
	for name, want := range map[string]string{
		"orders": "orders", "shop/eu-1": "shop/eu-1", "a b": "a b",
		"orders ": `"orders "`, "ord\u200bers": `"ord\u200bers"`, "größe": `"größe"`, "": `""`, "a\u00a0b": `"a\u00a0b"`,
	} {
		if got := shown(name); got != want {
			t.Errorf("shown(%q) = %s, want %s", name, got, want)
		}
	}
	var out bytes.Buffer
	rows := []wire.SequencerRow{{Name: "orders", Nodes: 128}, {Name: "orders ", Nodes: 128}}
	if err := printSequencerRows(&out, wire.SequencersResponse{Sequencers: rows}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "\norders ") || !strings.Contains(out.String(), "\n\"orders \" ") {
		t.Errorf("the two names look equal:\n%s", out.String())
	}
}
