package metrics

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/grid"
)

var update = flag.Bool("update", false, "rewrite the tables of docs/metrics.md")

const page = "../docs/metrics.md"

// TestPageListsEveryMetric: the tables of docs/metrics.md are those of the collectors and of
// the alerts. -update rewrites them.
func TestPageListsEveryMetric(t *testing.T) {
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for name, table := range map[string]string{"member": familyTable(memberFamilies),
		"handles": familyTable(holderFamilies), "alerts": alertTable()} {
		begin, end := "<!-- "+name+": generated -->\n", "<!-- end -->\n"
		head, rest, found := strings.Cut(text, begin)
		old, tail, ended := strings.Cut(rest, end)
		if !found || !ended {
			t.Fatalf("%s has no table %q", page, name)
		}
		if old != table && !*update {
			t.Errorf("the table %q of %s is not that of the code; run go test ./metrics -run TestPage -update\nwant:\n%s", name,
				page, table)
		}
		text = head + begin + table + end + tail
	}
	if *update {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func familyTable(families []*family) string {
	var b strings.Builder
	b.WriteString("\n| metric | type | labels | meaning |\n|---|---|---|---|\n")
	for _, f := range families {
		labels := strings.Join(f.labels, ", ")
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.name, f.kind, labels, strings.ReplaceAll(f.help, "|", "\\|"))
	}
	b.WriteString("\n")
	return b.String()
}

func alertTable() string {
	var b strings.Builder
	b.WriteString("\n| alert | severity | meaning |\n|---|---|---|\n")
	for _, kind := range grid.AlertKinds() {
		var severities []string
		for _, s := range kind.Severities {
			severities = append(severities, string(s))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", kind.Name, strings.Join(severities, ", "), kind.Meaning)
	}
	b.WriteString("\n")
	return b.String()
}

// TestNames: units are base units at the end of a name, and counters end in total.
func TestNames(t *testing.T) {
	for _, f := range slices.Concat(memberFamilies, holderFamilies) {
		if strings.HasSuffix(f.name, "_total") != (f.kind == counter) {
			t.Errorf("%s is a %s", f.name, f.kind)
		}
		if f.kind == histogram && !strings.HasSuffix(f.name, "_seconds") {
			t.Errorf("%s has no unit", f.name)
		}
		if !strings.HasSuffix(f.help, ".") {
			t.Errorf("the help of %s has no full stop: %s", f.name, f.help)
		}
	}
}
