package main

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// metrics are the process's metrics, in a separate registry.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	given    *prometheus.CounterVec
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "snowgrid_serve_requests_total",
			Help: "Requests for IDs by protocol and outcome; ok, or the code of the error.",
		}, []string{"protocol", "code"}),
		given: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "snowgrid_serve_ids_total", Help: "IDs given to callers, by protocol.",
		}, []string{"protocol"}),
	}
	for _, protocol := range []string{"http", "grpc"} { // present from the start, at 0
		m.requests.WithLabelValues(protocol, "ok")
		m.given.WithLabelValues(protocol)
	}
	m.registry.MustRegister(m.requests, m.given, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// request counts a request that gave n IDs or failed.
func (m *metrics) request(protocol string, n int, err error) {
	code := "ok"
	switch {
	case err == nil:
		m.given.WithLabelValues(protocol).Add(float64(n))
	case status.Code(err) == codes.InvalidArgument:
		code = "bad_request"
	default:
		code = wire.ErrorOf(err, 0).Code
	}
	m.requests.WithLabelValues(protocol, code).Inc()
}

// watch adds the service's state, which is read at each scrape.
func (m *metrics) watch(s *service) {
	labels := prometheus.Labels{"sequencer": s.def.Name()}
	gauge := func(name, help string, value func() float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help,
			ConstLabels: labels}, value))
	}
	counter := func(name, help string, value func(sequencer.Stats) uint64) {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help,
			ConstLabels: labels}, func() float64 {
			if h := s.own.Load(); h != nil {
				return float64(value(h.Stats()))
			}
			return 0
		}))
	}
	gauge("snowgrid_ready", "1 if the process should get requests.", func() float64 {
		if s.notReady() != nil {
			return 0
		}
		return 1
	})
	gauge("snowgrid_logical_node", "The attached logical node, -1 without one.", func() float64 {
		if h := s.own.Load(); h != nil {
			if node, attached := h.LogicalNode(); attached {
				return float64(node)
			}
		}
		return -1
	})
	gauge("snowgrid_grant_until_seconds", "End of the present grant in Unix seconds, 0 without one.", func() float64 {
		if h := s.own.Load(); h != nil {
			if until := h.Stats().GrantUntil; !until.IsZero() {
				return float64(until.UnixMilli()) / 1000
			}
		}
		return 0
	})
	gauge("snowgrid_logical_node_version", "How many holders the attached logical node has had, 0 without one.",
		func() float64 {
			if h, found := s.health(); found {
				return float64(h.Version)
			}
			return 0
		})
	gauge("snowgrid_certificate_expiry_timestamp_seconds",
		"End of the server's certificate in Unix seconds, 0 without TLS.", s.access.expiry)
	counter("snowgrid_ids_total", "IDs that were made.", func(s sequencer.Stats) uint64 { return s.IDs })
	counter("snowgrid_grant_waits_total", "Calls that had to wait for a grant.",
		func(s sequencer.Stats) uint64 { return s.GrantWaits })
	s.watchStore(gauge)
}

// watchStore adds the client's view of clocks and of records in the store.
func (s *service) watchStore(gauge func(name, help string, value func() float64)) {
	seen := func(name, help string, value func(h store.Health) float64) {
		gauge(name, help, func() float64 {
			if c := s.client.Load(); c != nil {
				return value(c.Health())
			}
			return 0
		})
	}
	seen("snowgrid_clock_skew_seconds", "How far this machine's clock is ahead of the store's, 0 while unknown.",
		func(h store.Health) float64 { return h.Skew.Seconds() })
	seen("snowgrid_clock_behind_seconds", "How far this machine's clock was behind another holder's at the last attach.",
		func(h store.Health) float64 { return h.Behind.Seconds() })
	seen("snowgrid_records_ahead", "Records that the last attaches left out: granted far ahead of this machine's clock.",
		func(h store.Health) float64 { return float64(h.Ahead) })
	seen("snowgrid_records_corrupt", "Records that the last attaches left out: damaged.",
		func(h store.Health) float64 { return float64(h.Corrupt) })
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}
