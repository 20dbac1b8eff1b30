// Package metric defines families of Prometheus metrics, the families and the collector for the handles of a
// process, and series for the busiest of many sequencers.
package metric

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowgrid/snowgrid/client"
)

// prefix begins every name.
const prefix = "snowgrid_"

// Kinds of families.
const (
	KindGauge     = "gauge"
	KindCounter   = "counter"
	KindHistogram = "histogram"
)

// Family is all metrics with one name.
type Family struct {
	Name   string // with the prefix
	Kind   string
	Help   string
	Labels []string
	desc   *prometheus.Desc
}

// Gauge returns a family of values that rise and fall. The name is without the prefix.
func Gauge(name, help string, labels ...string) *Family {
	return newFamily(KindGauge, name, help, labels)
}

// Counter returns a family of counts that only rise.
func Counter(name, help string, labels ...string) *Family {
	return newFamily(KindCounter, name, help, labels)
}

// Histogram returns a family of distributions.
func Histogram(name, help string, labels ...string) *Family {
	return newFamily(KindHistogram, name, help, labels)
}

func newFamily(kind, name, help string, labels []string) *Family {
	return &Family{Name: prefix + name, Kind: kind, Help: help, Labels: labels,
		desc: prometheus.NewDesc(prefix+name, help, labels, nil)}
}

// Sink receives one scrape's metrics.
type Sink chan<- prometheus.Metric

// Send sends the value of a gauge or a counter.
func (s Sink) Send(f *Family, value float64, labels ...string) {
	valueType := prometheus.GaugeValue
	if f.Kind == KindCounter {
		valueType = prometheus.CounterValue
	}
	s <- prometheus.MustNewConstMetric(f.desc, valueType, value, labels...)
}

// SendFlag sends 1 or 0.
func (s Sink) SendFlag(f *Family, holds bool, labels ...string) {
	value := 0.0
	if holds {
		value = 1
	}
	s.Send(f, value, labels...)
}

// SendHistogram sends a distribution, in seconds.
func (s Sink) SendHistogram(f *Family, d client.Distribution, labels ...string) {
	buckets := make(map[float64]uint64, len(d.Buckets))
	for _, b := range d.Buckets {
		buckets[b.UpTo.Seconds()] = b.Count
	}
	s <- prometheus.MustNewConstHistogram(f.desc, d.Count, d.Sum.Seconds(), buckets, labels...)
}

// Describe sends the families' descriptions.
func Describe(ch chan<- *prometheus.Desc, families []*Family) {
	for _, f := range families {
		ch <- f.desc
	}
}
