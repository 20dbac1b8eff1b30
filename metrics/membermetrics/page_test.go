package membermetrics

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/metrics/internal/metric"
)

var update = flag.Bool("update", false, "rewrite the tables of the pages in docs")

// TestPagesListEveryMetric: the tables of docs are those of the collectors and of the alerts. -update
// rewrites them.
func TestPagesListEveryMetric(t *testing.T) {
	checkPage(t, "../../docs/metrics.md", "handles", familyTable(metric.HolderFamilies))
	checkPage(t, "../../docs/member-metrics.md", "member", familyTable(memberFamilies))
	checkPage(t, "../../docs/alerts.md", "alerts", alertTable())
}

// checkPage compares the table of a page with the one that the code makes.
func checkPage(t *testing.T, page, name, table string) {
	t.Helper()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+": generated -->\n", "<!-- end -->\n"
	head, rest, found := strings.Cut(string(data), begin)
	old, tail, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no table %q", page, name)
	}
	if old == table {
		return
	}
	if !*update {
		t.Fatalf("the table of %s is not that of the code; run go test ./metrics/membermetrics -run TestPages "+
			"-update\nwant:\n%s", page, table)
	}
	if err := os.WriteFile(page, []byte(head+begin+table+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}

func familyTable(families []*metric.Family) string {
	var b strings.Builder
	b.WriteString("\n| metric | type | labels | meaning |\n|---|---|---|---|\n")
	for _, f := range families {
		labels := strings.Join(f.Labels, ", ")
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Name, f.Kind, labels, strings.ReplaceAll(f.Help, "|", "\\|"))
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
	for _, f := range slices.Concat(memberFamilies, metric.HolderFamilies) {
		if strings.HasSuffix(f.Name, "_total") != (f.Kind == metric.KindCounter) {
			t.Errorf("%s is a %s", f.Name, f.Kind)
		}
		if f.Kind == metric.KindHistogram && !strings.HasSuffix(f.Name, "_seconds") {
			t.Errorf("%s has no unit", f.Name)
		}
		if !strings.HasSuffix(f.Help, ".") {
			t.Errorf("the help of %s has no full stop: %s", f.Name, f.Help)
		}
	}
}
