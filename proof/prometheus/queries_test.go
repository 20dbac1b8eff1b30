package prometheus

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/teststorage"
)

const (
	rulesFile     = "../../deploy/prometheus/alerts.yaml"
	dashboardFile = "../../deploy/grafana/snowgrid.json"
	interval      = 15 * time.Second
	scrapes       = 6
)

var began = time.Unix(1_800_000_000, 0)

// TestEveryQueryHasSeries: each query of the dashboard returns a series over scrapes of a
// grid, and so does each selector of the alert rules; promtool finds nothing to say of the
// scrapes and the rules.
func TestEveryQueryHasSeries(t *testing.T) {
	exporters, work := startGrid(t)
	db := teststorage.New(t)
	at := began
	for range scrapes {
		work()
		at = at.Add(interval)
		for _, e := range exporters {
			ingest(t, db, e, at)
		}
	}
	engine := promqltest.NewTestEngine(t, false, 5*time.Minute, 1_000_000)
	count := func(query string) int {
		t.Helper()
		q, err := engine.NewInstantQuery(t.Context(), db, nil, query, at)
		if err != nil {
			t.Errorf("%s: %v", query, err)
			return -1
		}
		defer q.Close()
		result := q.Exec(t.Context())
		if result.Err != nil {
			t.Errorf("%s: %v", query, result.Err)
			return -1
		}
		return size(result)
	}
	for _, query := range dashboardQueries(t) {
		if count(query) == 0 {
			t.Errorf("no series for %s", query)
		}
	}
	for _, rule := range readRules(t) {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(rule.Expr)
		if err != nil {
			t.Fatal(err)
		}
		parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
			if selector, is := node.(*parser.VectorSelector); is && count(selector.String()) == 0 {
				t.Errorf("%s: no series for %s", rule.Alert, selector)
			}
			return nil
		})
	}
	// The rate of a sequencer over all members is that of its holders.
	if n := count(`sum(increase(snowgrid_sequencer_ids_total{sequencer="orders"}[1m])) > 5000`); n != 1 {
		t.Error("the members do not tell the IDs of orders")
	}
	if n := count(`snowgrid_leader == 1`); n != 1 {
		t.Errorf("%d members lead", n)
	}
	promtool(t, exporters)
}

// size returns the number of series of a result.
func size(r *promql.Result) int {
	switch v := r.Value.(type) {
	case promql.Vector:
		return len(v)
	case promql.Matrix:
		return len(v)
	}
	return 1
}

// ingest stores a scrape as Prometheus does.
func ingest(t *testing.T, db storage.Storage, e exporter, at time.Time) {
	t.Helper()
	body, contentType := e.scrape(t)
	p, err := textparse.New(body, contentType, labels.NewSymbolTable(), textparse.ParserOptions{})
	if err != nil {
		t.Fatal(err)
	}
	app := db.Appender(context.Background())
	add := func(l labels.Labels, v float64) {
		b := labels.NewBuilder(l).Set("job", "snowgrid").Set("instance", e.instance)
		if _, err := app.Append(0, b.Labels(), at.UnixMilli(), v); err != nil {
			t.Fatal(err)
		}
	}
	add(labels.FromStrings(model.MetricNameLabel, "up"), 1)
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if entry == textparse.EntrySeries {
			var l labels.Labels
			_, _, v := p.Series()
			p.Labels(&l)
			add(l, v)
		}
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
}

// dashboardQueries returns the queries of the dashboard with its variables filled in.
func dashboardQueries(t *testing.T) (queries []string) {
	t.Helper()
	data, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Type, Title string
			Targets     []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(data, &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, panel := range dashboard.Panels {
		if len(panel.Targets) == 0 && panel.Type != "row" {
			t.Errorf("the panel %q has no query", panel.Title)
		}
		for _, target := range panel.Targets {
			query := strings.NewReplacer("$__rate_interval", "1m", "$job", "snowgrid", "$instance", ".*").Replace(target.Expr)
			if strings.Contains(query, "$") {
				t.Errorf("the panel %q has a variable that this test does not know: %s", panel.Title, query)
			}
			queries = append(queries, query)
		}
	}
	if len(queries) < 40 {
		t.Errorf("the dashboard has %d queries", len(queries))
	}
	return queries
}

// promtool has Prometheus's tool check a scrape of each exporter, and the rules.
func promtool(t *testing.T, exporters []exporter) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Log(
			"promtool is not installed (Debian: apt-get install prometheus): its checks of the scrapes and rules are left out")
		return
	}
	for _, e := range exporters {
		body, _ := e.scrape(t)
		cmd := exec.Command(path, "check", "metrics")
		cmd.Stdin = strings.NewReader(own(string(body)))
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("promtool check metrics of %s: %v\n%s", e.instance, err, out)
		}
	}
	if out, err := exec.Command(path, "check", "rules", "--lint-fatal", rulesFile).CombinedOutput(); err != nil {
		t.Errorf("promtool check rules: %v\n%s", err, out)
	}
}

// own returns the metrics of snowgrid in a scrape.
func own(scrape string) string {
	var b strings.Builder
	for line := range strings.Lines(scrape) {
		name := strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE ")
		if strings.HasPrefix(name, "snowgrid_") {
			b.WriteString(line)
		}
	}
	return b.String()
}
