package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

func TestListingsQuoteNamesThatCannotBeRead(t *testing.T) {
	for name, want := range map[string]string{
		"orders": "orders", "shop/eu-1": "shop/eu-1", "a b": "a b",
		"orders ": `"orders "`, "ord\u200bers": `"ord\u200bers"`, "größe": `"größe"`, "": `""`, "a\u00a0b": `"a\u00a0b"`,
		"orders\u2800": `"orders\u2800"`, "orders\ufe0f": `"orders\ufe0f"`,
	} {
		if got := shown(name); got != want {
			t.Errorf("shown(%q) = %s, want %s", name, got, want)
		}
	}
	var out bytes.Buffer
	rows := []wire.SequencerRow{{Name: "orders", Nodes: 128}, {Name: "orders ", Nodes: 128}}
	err := aligned(&out, func(w io.Writer) { printSequencerRows(w, wire.SequencersResponse{Sequencers: rows}) })
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "\norders ") || !strings.Contains(out.String(), "\n\"orders \" ") {
		t.Errorf("the two names look equal:\n%s", out.String())
	}
}

// TestIncompleteListFails: a list of sequencers that lacks partitions prints its rows, and ends with
// a status of its own.
func TestIncompleteListFails(t *testing.T) {
	t.Parallel()
	list := wire.SequencersResponse{Sequencers: []wire.SequencerRow{{Name: "orders", Nodes: 128}}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(list)
	}))
	t.Cleanup(server.Close)
	addr := strings.TrimPrefix(server.URL, "http://")
	for _, test := range []struct {
		unlisted []roster.PartitionID
		status   int
		err      string
	}{
		{nil, exitDone, ""},
		{[]roster.PartitionID{4, 7}, exitDegraded, "the list is not complete: "},
	} {
		list.Unlisted = test.unlisted
		var out, errs strings.Builder
		status := run(t.Context(), []string{"sequencers", "--addr", addr}, streams{out: &out, err: &errs})
		if status != test.status || !strings.Contains(out.String(), "orders") || !strings.Contains(errs.String(), test.err) {
			t.Errorf("partitions %v not listed: exit status %d, want %d\nstdout: %s\nstderr: %s", test.unlisted, status,
				test.status, out.String(), errs.String())
		}
	}
}
