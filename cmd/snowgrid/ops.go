package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/metrics/membermetrics"
)

const (
	opsConnectionsMax = 32
	opsHeaderTimeout  = 5 * time.Second
	opsWriteTimeout   = 90 * time.Second // a CPU profile takes 30 s by default
	opsIdleTimeout    = 5 * time.Second
	opsScrapes        = 4
	opsScrapeTimeout  = 10 * time.Second
)

// opsServer serves metrics, health checks and profiles. It starts before the member does, so
// that a process which waits for its grid is seen alive.
type opsServer struct {
	registry *prometheus.Registry
	member   atomic.Pointer[grid.Member] // nil before it serves
	listener net.Listener
	api      string // the stated API address
	http     *http.Server
	ended    chan struct{}
}

// startOps starts the ops server of the flags, nil without an address.
func (f *opsFlags) startOps(logger *slog.Logger, pages *debugPages, api string) (*opsServer, error) {
	if f.OpsAddr == "" {
		return nil, nil
	}
	listener, err := net.Listen("tcp", f.OpsAddr)
	if err != nil {
		return nil, badValue("ops-addr", f.OpsAddr, "%v; choose a free address on this host", err)
	}
	o := &opsServer{registry: prometheus.NewRegistry(), listener: listener, api: api, ended: make(chan struct{})}
	o.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	o.http = &http.Server{
		Handler: o.routes(f.Pprof, pages), ReadHeaderTimeout: opsHeaderTimeout, ReadTimeout: opsHeaderTimeout,
		WriteTimeout: opsWriteTimeout, IdleTimeout: opsIdleTimeout,
		ConnState: new(opsConnections).note,
		ErrorLog:  slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	go func() {
		defer close(o.ended)
		if err := o.http.Serve(&opsListener{Listener: listener, logger: logger}); !errors.Is(err, http.ErrServerClosed) {
			logger.Error("the ops listener has ended", "error", err)
		}
	}()
	logger.Info("metrics and health checks served", "addr", listener.Addr().String(), "pprof", f.Pprof)
	return o, nil
}

func (o *opsServer) routes(profiles bool, pages *debugPages) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.InstrumentMetricHandler(o.registry,
		promhttp.HandlerFor(o.registry, promhttp.HandlerOpts{
			MaxRequestsInFlight: opsScrapes, Timeout: opsScrapeTimeout,
		})))
	mux.HandleFunc("GET /livez", o.health)
	mux.HandleFunc("GET /readyz", o.health)
	if profiles {
		debug := http.NewServeMux()
		debug.HandleFunc("GET /debug/pprof/", pprof.Index)
		debug.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		debug.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		debug.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		debug.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
		pages.routes(debug)
		mux.Handle("/debug/", ownHost(debug))
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintln(w, "/metrics\n/livez\n/readyz")
		if profiles {
			fmt.Fprintln(w, "/debug/pprof/\n/debug/log\n/debug/config\n/debug/build")
		}
	})
	return mux
}

// ownHost serves requests addressed to this machine. It blocks DNS rebinding: a web page can point its
// own name to a loopback address and read the pages.
func ownHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !wire.IsLoopback(r.Host) || r.Header.Get("Origin") != "" {
			http.Error(w, fmt.Sprintf("host %.100q is not this machine; use localhost or 127.0.0.1, and no page of a browser",
				r.Host), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// health answers as the member's API does. Before the member serves, the process is alive and
// not ready.
func (o *opsServer) health(w http.ResponseWriter, r *http.Request) {
	if member := o.member.Load(); member != nil {
		grid.HealthHandler(member).ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if r.URL.Path == "/livez" {
		fmt.Fprintln(w, "alive")
		return
	}
	w.WriteHeader(http.StatusServiceUnavailable)
	fmt.Fprintf(w, "the member waits for its grid; GET /readyz at its API (%s) has the reason\n", o.api)
}

// serves starts serving a ready member's pages.
func (o *opsServer) serves(member *grid.Member) {
	if o != nil {
		o.registry.MustRegister(membermetrics.ForMember(member))
		o.member.Store(member)
	}
}

// close ends the server, with the scrapes that are in progress.
func (o *opsServer) close() {
	if o == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if o.http.Shutdown(ctx) != nil {
		_ = o.http.Close()
	}
	<-o.ended
}
