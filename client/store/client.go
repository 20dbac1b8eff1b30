package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/bounded"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/tracing"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Client is a process's access to a store. All methods may be called from any number of goroutines.
// [Open] returns one; the methods of the zero value panic.
type Client struct {
	*recordStore // has the configuration, too
	*registry

	log      *slog.Logger
	clock    *handles.Clock
	wall     wallClock
	handles  *handles.Registry[*holder]
	releases *handles.Releases
	calls    callbacks // of the configuration
	spans    *tracing.Tracer
}

type entry = handles.Entry[*holder]

// Open returns a client of the store. It checks first that the store enforces the
// conditions of writes, by a key below the prefix that it keeps for this. While the store
// does not answer it tries again until ctx ends.
//
// Errors: sequencer.ErrInvalidConfig, also for a store that ignores conditions, that lacks
// its table or bucket, that refuses this process, also by TLS, or that may lose acknowledged
// writes without a FailoverBound, and for a wall clock that is wrong; and, when ctx ended,
// an error that matches ctx.Err() and sequencer.ErrUnavailable.
func Open(ctx context.Context, s Store, cfg Config) (*Client, error) {
	clock := handles.NewClock()
	if cfg.Clock != nil { // another time than the processor's
		clock = handles.NewExactClock()
	}
	return open(ctx, s, cfg, clock)
}

func open(ctx context.Context, s Store, cfg Config, clock *handles.Clock) (*Client, error) {
	if s == nil {
		return nil, failure.Errorf(sequencer.ErrInvalidConfig,
			"store: open: the store is nil; give one, such as OpenFile returns")
	}
	cfg, err := cfg.resolved(s)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, failure.Errorf(sequencer.ErrUnavailable, "store: open: the context had ended before the call: %w", err)
	}
	tasks := handles.NewTasks("store")
	c := &Client{
		spans:       tracing.New(cfg.Trace),
		recordStore: &recordStore{store: s, cfg: cfg, tasks: tasks},
		registry:    &registry{seats: map[attachment.ID]*seat{}, rooms: map[string]*room{}, creates: map[string]error{}},
		log:         cfg.Logger, clock: clock, wall: wallClock{read: cfg.Clock}, releases: handles.NewReleases(tasks),
	}
	c.handles = handles.New[*holder](tasks, keeper{c})
	var before error
	for try := 1; ; try++ {
		err := c.start(ctx)
		if err == nil {
			break
		}
		err = causeOf(ctx, err, before)
		before = err
		if isTLSRefusal(err) {
			err = failure.Errorf(sequencer.ErrInvalidConfig, "%w%s", err, adviceFor(err))
		}
		if errors.Is(err, sequencer.ErrInvalidConfig) {
			tasks.Close()
			return nil, err
		}
		if cfg.OnRetry != nil {
			cfg.OnRetry(err)
		}
		c.log.Warn("store not reachable; retrying", "store", nameOf(s), "error", err)
		if !signal.Sleep(ctx, record.RetryAfter(try, 8*time.Second)) {
			tasks.Close()
			return nil, failure.Errorf(sequencer.ErrUnavailable, "store: open: %s could not be used: %w; last error: %s%s",
				nameOf(s), ctx.Err(), err.Error(), adviceFor(err))
		}
	}
	c.tasks.Go(c.run)
	if w, tells := s.(Watcher); tells {
		c.tasks.Go(func(ctx context.Context) { c.watch(ctx, w) })
	}
	return c, nil
}

// causeOf returns the error to report for an operation: the one before last if last came from the end of ctx, which
// hides why the attempts failed. before may be nil.
func causeOf(ctx context.Context, last, before error) error {
	if ended := ctx.Err(); ended != nil && before != nil && errors.Is(last, ended) {
		return before
	}
	return last
}

// adviceFor returns the advice for an error of the network or the disk. Other errors have their own, and what a
// server refuses, such as a right, has none here.
func adviceFor(err error) string {
	text := err.Error()
	if errors.Is(err, bounded.ErrHangs) || strings.Contains(text, "; check ") {
		return ""
	}
	if strings.Contains(text, "x509: ") || isTLSRefusal(err) {
		return tlsAdvice
	}
	var file *fs.PathError // its system error is a net.Error, too
	if errors.As(err, &file) {
		return "; check the disk, and that this process may write to it"
	}
	var network net.Error
	if errors.As(err, &network) || errors.Is(err, context.DeadlineExceeded) {
		return "; check its address, and that it runs"
	}
	return ""
}

// start checks the store and reads the clocks.
func (c *Client) start(ctx context.Context) error {
	if err := c.probe(ctx); err != nil {
		return err
	}
	if g, may := c.store.(Generations); may {
		server, err := c.setUpOf(ctx, g)
		switch {
		case err != nil:
			return fmt.Errorf("store: %s: its generation: %w", nameOf(c.store), err)
		case server.lossy && c.cfg.FailoverBound == 0:
			return failure.Errorf(sequencer.ErrInvalidConfig, "store: %s may lose acknowledged writes in a failover; set up "+
				"synchronous replication, or give Config.FailoverBound (--failover-bound), the longest time for which a "+
				"server that was replaced acknowledges writes", nameOf(c.store))
		case server.lossy || c.cfg.FailoverBound > 0:
			if err := c.checkGeneration(server.id); err != nil {
				return err
			}
			c.lossy = g
		}
	}
	return c.sample()
}

// nameOf returns a store's name for messages.
func nameOf(s Store) string {
	if named, is := s.(fmt.Stringer); is {
		return named.String()
	}
	return fmt.Sprintf("%T", s)
}

// lookEvery is the interval at which the client samples the wall clock and looks for idle handles.
const lookEvery = time.Second

// run samples the clock and looks for idle handles until ctx ends.
func (c *Client) run(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := c.sample(); err != nil {
			c.log.Warn("clock not followed", "error", err)
		}
		now := c.clock.Now()
		for _, e := range c.handles.All() {
			if e.Control.Idle(now) && e.State.detaching.CompareAndSwap(false, true) {
				c.tasks.Go(func(ctx context.Context) {
					defer e.State.detaching.Store(false)
					handles.DetachIdle(ctx, e.Control, 2*c.cfg.CallTimeout, c.log)
				})
			}
		}
	}
}

// Leave returns every logical node and closes the client. It returns an error that matches
// ctx.Err() if ctx ended first; the client is closed then too.
//
// A logical node is free once its grant has ended, even without a release. Leave therefore ends by
// itself if the store has not answered until the last grant ended, a window at most, with an error
// that matches sequencer.ErrUnavailable.
//
// Errors: sequencer.ErrClosed, also when Close ends it; sequencer.ErrUnavailable; and, when ctx
// ended, an error that matches ctx.Err() and sequencer.ErrUnavailable.
func (c *Client) Leave(ctx context.Context) error {
	if err := c.tasks.Err(); err != nil {
		return err
	}
	err := c.blamed(c.handles.Leave(ctx, c.releases, c.clock, c.cfg.Window))
	_ = c.Close()
	return err
}

// blamed adds the store's last error if a leave got no answer: a handle that waits for its own attach reports only
// that one is in progress.
func (c *Client) blamed(err error) error {
	if !errors.Is(err, sequencer.ErrUnavailable) {
		return err
	}
	for _, e := range c.handles.All() {
		if failed := e.State.failed.Load(); failed != nil && !strings.Contains(err.Error(), (*failed).Error()) {
			return fmt.Errorf("store: leave: %s does not answer: %s: %w", nameOf(c.store), (*failed).Error(), err)
		}
	}
	return err
}

// Close ends the client and every handle immediately, without another write: the logical
// nodes are free again when their windows have ended. Handles return sequencer.ErrClosed
// from then on. Closing twice does nothing the second time.
func (c *Client) Close() error {
	c.handles.Close()
	return nil
}

// tlsRefusals are parts of texts by which one side of TLS refuses the other until a person changes a setting or
// a certificate. Drivers and gRPC pass on the text alone. An expired certificate is not among them: the next one may be
// on its way.
var tlsRefusals = []string{
	"certificate signed by unknown authority", "certificate is valid for ", "certificate is not valid for any names",
	"cannot validate certificate for ", // without IP addresses
	"tls: bad certificate", "tls: certificate required", "tls: unknown certificate authority",
	"tls: first record does not look like a TLS handshake", "http: server gave HTTP response to HTTPS client",
	"server refused TLS connection", "TLS requested but server does not support TLS", // of pgx and go-sql-driver/mysql
}

// tlsAdvice is the remedy for TLS errors.
const tlsAdvice = "; check the TLS settings of the store's client and the server's certificate"

// isTLSRefusal reports whether an error comes from TLS and no wait repairs it.
func isTLSRefusal(err error) bool {
	return slices.ContainsFunc(tlsRefusals, func(part string) bool { return strings.Contains(err.Error(), part) })
}
