// Package metrics provides Prometheus metrics for a grid member and for a client. The program's own
// registry gets the collectors; nothing is registered globally:
//
//	registry := prometheus.NewRegistry()
//	registry.MustRegister(metrics.ForMember(member))
//	http.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
//
// The agent serves the same at /metrics on its --ops-addr. docs/metrics.md and docs/member-metrics.md list
// every metric. A program with several members or clients registers each under separate labels
// (prometheus.WrapRegistererWith).
//
// A collector counts nothing by itself: at each scrape it reads [grid.Member.Status] and
// [grid.Member.Stats], or [client.Client.Stats]. Generating an ID costs the same with and without
// it.
//
// # Series of sequencers
//
// A grid may have a hundred thousand sequencers, so only the 50 with the most IDs have series with
// their name in the label sequencer; all others count in the series "other". A count's series never
// decreases, and rate() over it is correct across all changes: each ID counts in exactly one
// series, the one that its name had when the collector first read the count. A name that becomes
// busy begins with a series at 0, and "other" keeps its earlier IDs. A name that is no longer busy
// continues in "other", and its own series stays constant for an hour before it ends. When a
// partition moves, the earlier owner's series stays and the new owner's begins at 0, so sum by
// (sequencer) (rate(...)) is the sequencer's rate. Gauges, such as logical nodes, cover the
// sequencers that a member owns now.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowgrid/snowgrid/client"
)

// prefix begins every name.
const prefix = "snowgrid_"

// kind is a metric's kind.
type kind string

const (
	gauge     kind = "gauge"
	counter   kind = "counter"
	histogram kind = "histogram"
)

// family is all metrics with one name.
type family struct {
	name   string // without the prefix
	kind   kind
	help   string
	labels []string
	desc   *prometheus.Desc
}

func newFamily(k kind, name, help string, labels ...string) *family {
	return &family{name: prefix + name, kind: k, help: help, labels: labels,
		desc: prometheus.NewDesc(prefix+name, help, labels, nil)}
}

// sink receives one scrape's metrics.
type sink chan<- prometheus.Metric

// send sends the value of a gauge or a counter.
func (s sink) send(f *family, value float64, labels ...string) {
	valueType := prometheus.GaugeValue
	if f.kind == counter {
		valueType = prometheus.CounterValue
	}
	s <- prometheus.MustNewConstMetric(f.desc, valueType, value, labels...)
}

// sendFlag sends 1 or 0.
func (s sink) sendFlag(f *family, holds bool, labels ...string) {
	value := 0.0
	if holds {
		value = 1
	}
	s.send(f, value, labels...)
}

// sendHistogram sends a distribution, in seconds.
func (s sink) sendHistogram(f *family, d client.Distribution, labels ...string) {
	buckets := make(map[float64]uint64, len(d.Buckets))
	for _, b := range d.Buckets {
		buckets[b.UpTo.Seconds()] = b.Count
	}
	s <- prometheus.MustNewConstHistogram(f.desc, d.Count, d.Sum.Seconds(), buckets, labels...)
}

// describe sends the families' descriptions.
func describe(ch chan<- *prometheus.Desc, families []*family) {
	for _, f := range families {
		ch <- f.desc
	}
}
