package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"

	"github.com/snowgrid/snowgrid/client/etcd/mixed"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/bounded"
	"github.com/snowgrid/snowgrid/internal/definitionflags"
	"github.com/snowgrid/snowgrid/sequencer"
)

type serveCommand struct {
	storeFlags
	Sequencer string `help:"Sequencer that this process is ready with, and that gRPC callers get. It is created if it does not exist." default:"default" env:"SNOWGRID_SEQUENCER"`
	definitionflags.New
	MaxServerCnt int `name:"max-server-cnt" help:"Processes that can use a new sequencer at the same time: as many logical nodes are made; 32." env:"SNOWGRID_MAX_SERVER_CNT,SNOWGRID_ETCD_MAX_SERVER_CNT" placeholder:"COUNT"`

	HTTPAddr     string        `name:"http-addr" help:"Listen address for HTTP: /v1/ids, /livez, /readyz, /ready, /metrics." default:"127.0.0.1:8001" env:"SNOWGRID_HTTP_ADDR"`
	GRPCAddr     string        `name:"grpc-addr" help:"Listen address for gRPC; none to leave it out." default:"127.0.0.1:7669" env:"SNOWGRID_GRPC_ADDR"`
	MaxClockBack *durationFlag `help:"How far the clock may be set back before the logical node is reported lost; 5s." env:"SNOWGRID_MAX_CLOCK_BACK" placeholder:"DURATION"`
	LeaveTimeout durationFlag  `help:"Time limit for returning the logical nodes after the first signal." default:"10s" env:"SNOWGRID_LEAVE_TIMEOUT"`
	LogLevel     slog.Level    `help:"Lowest level that is logged: debug, info, warn or error." default:"info" env:"SNOWGRID_LOG_LEVEL"`
	LogFormat    string        `help:"Log format: text or json." enum:"text,json" default:"text" env:"SNOWGRID_LOG_FORMAT"`
	connectionsFlag
	tlsFlags
}

func (s *serveCommand) config(log *slog.Logger) (store.Config, error) {
	cfg, err := s.windows()
	if err != nil {
		return cfg, err
	}
	if s.MaxServerCnt < 0 {
		return cfg, fmt.Errorf("max_server_cnt: %d is negative; give the number of processes, or leave it out for 32",
			s.MaxServerCnt)
	}
	if s.LeaveTimeout <= 0 {
		return cfg, fmt.Errorf("--leave-timeout: %v is not a positive duration; give one such as 10s",
			time.Duration(s.LeaveTimeout))
	}
	if s.MaxClockBack != nil && *s.MaxClockBack <= 0 {
		return cfg, fmt.Errorf("--max-clock-back: %v is not a positive duration; give one such as 5s, or leave it out",
			s.MaxClockBack.of())
	}
	cfg.Pool, cfg.MaxClockBack, cfg.Logger = s.MaxServerCnt, s.MaxClockBack.of(), log
	return cfg, nil
}

func (s *serveCommand) definition() (sequencer.Definition, error) {
	def, err := sequencer.Define(s.Sequencer, s.Config())
	if err == nil && s.Etcd.Mixed && s.Sequencer != mixed.Sequencer {
		err = fmt.Errorf("--etcd-mixed: the sequencer %q shares no logical nodes with the original's workers; leave out "+
			"--sequencer", s.Sequencer)
	}
	if cfg := s.Config(); err == nil && s.Etcd.Mixed &&
		(cfg.Layout != sequencer.Twitter() || cfg.Epoch != epoch.UnixMilli(0)) {
		err = fmt.Errorf("--etcd-mixed: the IDs of %v can be equal to the IDs of the original's workers; add --layout "+
			"63/22/1024 --epoch 1970-01-01, which are theirs", def)
	}
	return def, err
}

// Run serves until ctx ends, then returns the logical nodes.
func (s *serveCommand) Run(ctx context.Context, to streams) error {
	log := s.logger(to)
	hangup := make(chan os.Signal, 1) // SIGHUP does not end the process, which would keep its nodes
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	def, err := s.definition()
	if err != nil {
		return usage(err)
	}
	cfg, err := s.config(log)
	if err != nil {
		return usage(err)
	}
	if most := (attachment.Ref{Definition: def}).Nodes(); s.MaxServerCnt > most {
		return usagef("max_server_cnt: %d processes are more than the %d logical nodes of %v; give fewer, or more --nodes",
			s.MaxServerCnt, most, def)
	}
	if err := s.check(s.HTTPAddr, s.GRPCAddr); err != nil {
		return usage(err)
	}
	connections, err := s.limit(filesMax())
	if err != nil {
		return usage(err)
	}
	if err := s.checkKey(ctx, log); err != nil {
		return usage(err)
	}
	encryption, callers, err := s.load()
	if err != nil {
		return usage(err)
	}
	records, err := s.locate(ctx)
	if err == nil {
		err = records.check(cfg)
	}
	if err != nil {
		return err
	}
	at, err := s.listen(ctx, connections, log)
	if err != nil {
		return err
	}
	at.tls = encryption
	defer at.close()
	fmt.Fprintf(to.out, "%s listens: http %s, grpc %s\n", s.Sequencer, addrOf(at.http), addrOf(at.grpc))
	if s.Insecure && callers.anyone() {
		log.WarnContext(ctx, "callers prove no identity; any process that reaches this one can take IDs", "tls",
			encryption != nil)
	}
	running, stop := context.WithCancelCause(ctx)
	service := newService(def, log)
	service.access = callers
	var watching sync.WaitGroup
	watching.Go(func() { callers.watch(running, log, hangup) })
	defer watching.Wait()
	defer stop(nil)
	web := serving(service, at, s.HTTPAddr, log, stop)
	err = bounded.End(running, time.Duration(s.LeaveTimeout)+endLimit, func() error {
		return s.hold(running, service, records, cfg, web.stop)
	})
	web.stop()
	if cause := context.Cause(running); ctx.Err() == nil && err == nil {
		err = cause
	}
	return err
}

// endLimit is the maximum time for the rest of the end: requests in progress, the last call, and the store's own end.
const endLimit = 3 * time.Second

// hold opens the store and holds a logical node until ctx ends. Then it ends the servers by
// stop, and returns all nodes.
func (s *serveCommand) hold(ctx context.Context, service *service, at located, cfg store.Config, stop func()) error {
	starting, cancel := context.WithTimeout(ctx, time.Duration(s.Timeout))
	defer cancel()
	last := ""
	o, err := at.opens(starting, func(err error) {
		service.failing(err)
		if text := err.Error(); text != last {
			last = text
			service.log.WarnContext(ctx, "store not reachable; retrying", "error", err)
		}
	})
	if err != nil {
		return unlessOver(ctx, err)
	}
	defer o.closed()
	service.log.InfoContext(ctx, "store opening", "store", o.name)
	cfg.OnRetry = service.failing
	c, err := store.Open(starting, o.Store, cfg)
	if err != nil {
		return unlessOver(ctx, err)
	}
	defer func() { _ = c.Close() }() // it returns no error
	if err := service.attach(ctx, c); err != nil {
		return err
	}
	<-ctx.Done()
	stop()
	service.log.InfoContext(ctx, "leaving", "timeout", time.Duration(s.LeaveTimeout))
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Duration(s.LeaveTimeout))
	defer cancel()
	if err := c.Leave(leaving); err != nil {
		return fmt.Errorf("not every logical node was returned; they are free when their windows have ended: %w", err)
	}
	return nil
}

// unlessOver returns an error, nil if the process was signalled meanwhile.
func unlessOver(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

type servers struct {
	http  *http.Server
	grpc  *grpc.Server // may be nil
	ended sync.WaitGroup
}

// serving begins to serve. A server that fails calls failed.
func serving(service *service, at listeners, addr string, log *slog.Logger, failed func(error)) *servers {
	m := newMetrics()
	m.watch(service)
	s := &servers{http: newHTTP(service, m, addr, log)}
	s.http.TLSConfig = at.tls.Clone() // each server changes its own; nil stays nil
	s.ended.Go(func() {
		if err := at.serve(s.http); !errors.Is(err, http.ErrServerClosed) {
			failed(fmt.Errorf("the HTTP server has ended: %w", err))
		}
	})
	if at.grpc != nil {
		s.grpc = newGRPC(service, m, at.tls, grpcLives)
		s.ended.Go(func() {
			if err := s.grpc.Serve(at.grpc); err != nil {
				failed(fmt.Errorf("the gRPC server has ended: %w", err))
			}
		})
	}
	return s
}

// stop ends both servers. Requests in progress get a second. Calls after the first do
// nothing.
func (s *servers) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.grpc != nil {
		defer context.AfterFunc(ctx, s.grpc.Stop)()
		s.ended.Go(s.grpc.GracefulStop)
	}
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
	s.ended.Wait()
}

// listeners are both servers' sockets.
type listeners struct {
	http, grpc net.Listener // grpc may be nil
	tls        *tls.Config  // nil: clear text
}

// serve serves HTTP until the server is closed.
func (l listeners) serve(server *http.Server) error {
	if l.tls == nil {
		return server.Serve(l.http)
	}
	return server.ServeTLS(l.http, "", "")
}

// addrOf returns a listener's address, none without one.
func addrOf(ln net.Listener) string {
	if ln == nil {
		return "none"
	}
	return ln.Addr().String()
}

func (l listeners) close() {
	for _, ln := range []net.Listener{l.http, l.grpc} {
		if ln != nil {
			_ = ln.Close() // its server has closed it
		}
	}
}

// noAddr is the address that leaves out the gRPC server.
const noAddr = "none"

// listen opens the sockets, each for so many connections, before the store gets a request.
func (s *serveCommand) listen(ctx context.Context, connections int, log *slog.Logger) (l listeners, err error) {
	var config net.ListenConfig
	if l.http, err = config.Listen(ctx, "tcp", s.HTTPAddr); err != nil {
		return l, fmt.Errorf("--http-addr: %w; give another address, or end the process that has it", err)
	}
	l.http = newLimitedListener(l.http, connections, log)
	if s.GRPCAddr == "" || s.GRPCAddr == noAddr {
		return l, nil
	}
	if l.grpc, err = config.Listen(ctx, "tcp", s.GRPCAddr); err != nil {
		l.close()
		return l, fmt.Errorf("--grpc-addr: %w; give another address, or none for no gRPC server", err)
	}
	l.grpc = newLimitedListener(l.grpc, connections, log)
	return l, nil
}

func (s *serveCommand) logger(to streams) *slog.Logger {
	options := &slog.HandlerOptions{Level: s.LogLevel}
	if s.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(to.err, options))
	}
	return slog.New(slog.NewTextHandler(to.err, options))
}
