// Package metrics provides Prometheus metrics for a client. Package membermetrics below it has those for a grid
// member, so that a thin client links no grid. The program's own registry gets the collectors; nothing is
// registered globally:
//
//	registry := prometheus.NewRegistry()
//	registry.MustRegister(metrics.ForClient(c)) // or membermetrics.ForMember(member)
//	http.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
//
// docs/metrics.md lists every metric. A program with several members or clients registers each under
// separate labels (prometheus.WrapRegistererWith).
//
// A collector counts nothing by itself: at each scrape it reads [client.Client.Stats]. Generating an ID
// costs the same with and without it.
//
// # Series of sequencers
//
// A grid may have a hundred thousand sequencers, so only the 50 with the most IDs have series with
// their name in the label sequencer; all others count in the series "other". A count's series never
// decreases, and rate() over it is correct across all changes: each ID counts in exactly one
// series, the one that its name had when the collector first read the count. A name that becomes
// busy begins with a series at 0, and "other" keeps its earlier IDs. A name that is no longer busy
// continues in "other", and its own series stays constant for an hour before it ends.
package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/metrics/internal/metric"
)

// ClientSource is a [client.Client].
type ClientSource interface{ Stats() client.Stats }

// ForClient returns a client's collector. Register it once: the collector keeps state between
// scrapes.
func ForClient(c ClientSource) prometheus.Collector { return &clientCollector{of: c} }

type clientCollector struct {
	of     ClientSource
	mu     sync.Mutex // one scrape at a time
	holder metric.Holder
}

func (c *clientCollector) Describe(ch chan<- *prometheus.Desc) {
	metric.Describe(ch, metric.HolderFamilies)
}

func (c *clientCollector) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.of.Stats()
	c.holder.Collect(metric.Sink(ch), s, s.Dials, s.DialFailures)
}
