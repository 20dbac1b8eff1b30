package sqlfunctions

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/sequencer"
)

var update = flag.Bool("update", false, "write the texts to testdata")

func define(t *testing.T, cfg sequencer.Config) sequencer.Definition {
	t.Helper()
	d, err := sequencer.Define("shop/Orders", cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestText compares the texts with the files in testdata, which a review shows as they are printed. The tests of
// client/sql run them on real servers.
func TestText(t *testing.T) {
	for name, cfg := range map[string]sequencer.Config{
		"default": {Epoch: epoch.Default}, "twitter": {Epoch: epoch.Twitter, Layout: sequencer.Twitter()},
	} {
		d := define(t, cfg)
		for _, dialect := range Names() {
			got, err := Text(Dialect(dialect), Prefix(d.Name()), d)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", dialect+"-"+name+".sql")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil || got != string(want) {
				t.Errorf("%s is not the text printed now (%v); see the difference with go test ./internal/sqlfunctions -update",
					file, err)
			}
		}
	}
}

// TestEveryPlaceIsFilled: no layout leaves a place in braces, or a number that does not fit.
func TestEveryPlaceIsFilled(t *testing.T) {
	for _, cfg := range []sequencer.Config{
		{Epoch: epoch.Default}, {Epoch: epoch.Default, Nodes: 128}, {Epoch: epoch.Default, Layout: sequencer.JSSafe()},
		{Epoch: epoch.UnixMilli(253_402_300_799_999), Layout: sequencer.Layout{Bits: 63, LowBits: 17, Nodes: 8192}},
		{Epoch: epoch.UnixMilli(0), Layout: sequencer.Layout{Bits: 37, LowBits: 5, Nodes: 16}},
	} {
		d := define(t, cfg)
		for _, dialect := range Names() {
			text, err := Text(Dialect(dialect), "p", d)
			if err != nil {
				t.Fatal(err)
			}
			if rest := strings.ReplaceAll(text, "{12}", ""); strings.ContainsAny(rest, "{}") {
				t.Errorf("%v, %s: a place is left:\n%s", d, dialect, text)
			}
			if most := sequencer.ID(math.MaxInt64 >> (63 - d.Config().Layout.Bits)).String(); dialect != "clickhouse" &&
				!strings.Contains(text, "BETWEEN 0 AND "+most+" ") {
				t.Errorf("%v, %s: the largest ID is not %s:\n%s", d, dialect, most, text)
			}
		}
	}
}

// TestPrefix: a name makes identifiers of the dialect, or an error that names the limit.
func TestPrefix(t *testing.T) {
	d := define(t, sequencer.Config{Epoch: epoch.Default})
	for _, c := range []struct {
		name    string
		dialect Dialect
		prefix  string
		says    string
	}{
		{"orders", PostgreSQL, "orders", ""},
		{"shop/Orders-2", MySQL, "shop_orders_2", ""},
		{`a"b; DROP`, SQLite, "a_b__drop", ""},
		{"größe", PostgreSQL, "größe", `"größe"`},
		{"2nd", MySQL, "2nd", "a letter first"},
		{"/orders", ClickHouse, "_orders", "a letter first"},
		{"", PostgreSQL, "", "a letter first"},
		{strings.Repeat("x", 51), PostgreSQL, strings.Repeat("x", 51), ""},
		{strings.Repeat("x", 52), PostgreSQL, strings.Repeat("x", 52), "at most 51"},
		{strings.Repeat("x", 52), MySQL, strings.Repeat("x", 52), ""},
		{strings.Repeat("x", 53), MySQL, strings.Repeat("x", 53), "at most 52"},
		{"orders", "oracle", "orders", "postgres, mysql, sqlite, clickhouse"},
	} {
		prefix := Prefix(c.name)
		text, err := Text(c.dialect, prefix, d)
		if prefix != c.prefix || (err == nil) != (c.says == "") || (err == nil) != (text != "") {
			t.Errorf("%q in %s: prefix %q, %d bytes, %v", c.name, c.dialect, prefix, len(text), err)
		}
		if err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q in %s: %v, want %q", c.name, c.dialect, err, c.says)
		}
	}
}
