// Package client connects a process to a grid: it finds the owners of sequencers,
// attaches logical nodes, renews their grants, and ends handles whose sequencer was
// destroyed. A thin client is a process that only does that:
//
//	c, err := client.Dial(ctx, client.Config{Addrs: []string{"10.0.0.1:7948"}})
//	orders, err := c.CreateSequencer(ctx, "orders", sequencer.Config{})
//	id, err := orders.Next(ctx)
//
// A grid with security requires a certificate with the role holder, or a token, in Config.Security.
// A call that it does not allow returns an error that matches security.ErrDenied or
// security.ErrUnauthenticated, without a retry.
//
// A grid member uses the same code for its own handles.
package client

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/buildinfo"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/identity"
	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/logqueue"
	"github.com/snowgrid/snowgrid/internal/session"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/tcp"
	"github.com/snowgrid/snowgrid/internal/tracing"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Config configures a client. Only Addrs is required.
type Config struct {
	// Addrs are API addresses, host:port, of one or more members. The client
	// finds the others through them.
	Addrs []string
	// Security has this process's credentials and the authorities that it trusts; see package
	// security. Its files are watched, so certificates are replaced without a restart. nil = clear
	// text, for a grid without security.
	Security *security.Config
	// Labels describe this process to operators, such as host, pid and service; `snowgrid holders`
	// lists them. At most 16, with 512 bytes together. nil = none.
	Labels map[string]string
	// Logger receives events for the operator; nil = none, except that
	// slog.Default receives one line when no member answers a Dial for seconds.
	Logger *slog.Logger
	// DataDir, if not "", is a directory for this process alone. In it the client remembers
	// its logical nodes, and a restarted process gets them back: immediately after Leave,
	// and after a crash when the crashed process's grants have ended, which takes a
	// window at most. In either case its IDs begin above the earlier process's IDs.
	DataDir string
	// Set gives the process a number that it keeps across restarts with its DataDir: 1, 2, 3 and so
	// on within the set with this name; see [Client.Number]. No logical node is attached before the
	// number is registered, and a process with a copied DataDir ends the handles of the earlier one
	// (sequencer.ErrFenced). "" = no number. Cluster distinguishes sets with the same name; "" =
	// the grid's name.
	Set, Cluster string
	// Trace, if not nil, is called at the beginning of each create, attach, renew and failover, with that word
	// as the name, and attributes such as sequencer and member. It returns a context for the operation's parts
	// and a function, which is called at the end with the error or nil. A failover begins when an owner does
	// not answer, and ends when the directory has replaced it. Both functions may be called from any number of
	// goroutines, and run in goroutines of their own. An operation waits for each for 0.1 s at most; renewals
	// and failovers do not wait. Operations beyond 1,000 open ones are not traced. A panic ends the process.
	// Module otel is for OpenTelemetry.
	Trace func(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, func(error))
	// Dial opens connections; nil = TCP. Dials to one address run one at a time, and each context
	// ends after two seconds.
	Dial func(ctx context.Context, addr string) (net.Conn, error)

	parts calls.Parts
}

// init lets members and package gridtest replace parts of a client.
func init() {
	calls.Configurable(func(c Config, p calls.Parts) Config {
		c.parts = p
		return c
	})
}

// Client is a process's connection to a grid. All methods may be called from any
// number of goroutines. [Dial] returns one; the methods of the zero value panic.
type Client struct {
	holder    attachment.HolderID
	about     *wire.About // read only
	addrs     []string
	log       *slog.Logger
	transport calls.Transport
	closeHTTP func()
	clock     *handles.Clock
	process   *process
	memory    *memory

	session   *runner
	handles   *handles.Registry[*session.Handle]
	releases  *handles.Releases
	tasks     *handles.Tasks
	directory atomic.Pointer[wire.DirectoryResponse] // the newest, nil at first
	rounds    rounds                                 // of searches for the directory
	watch     watch
	counts    counts
	spans     *spans
}

// Dial connects to the grid that answers at one of the addresses. It tries until ctx ends.
//
// With a Set it returns when the process has its number; if ctx ends before, the next Dial
// continues where this one ended.
//
// Errors: sequencer.ErrInvalidConfig, also for a DataDir that another process uses, that is
// damaged, or that belongs to another Set or Cluster; ErrNotRegistered if the grid has no
// registration for the number in DataDir; sequencer.ErrFenced; and, when ctx ended, an error that
// matches ctx.Err() and sequencer.ErrUnavailable.
func Dial(ctx context.Context, cfg Config) (*Client, error) {
	c, err := newClient(cfg)
	if err != nil {
		return nil, err
	}
	err = c.findGrid(ctx, cfg)
	if err == nil {
		err = c.register(ctx, cfg)
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	if c.process.Number != nil {
		c.tasks.Go(func(ctx context.Context) { // a later process that registers with the number ends every handle
			select {
			case <-c.process.Number.Fenced():
				c.session.fence(c.process.Number.Status().Err)
			case <-ctx.Done():
			}
		})
	}
	return c, nil
}

// ErrNotRegistered means that the grid has no registration for the number in the DataDir. The
// message has the remedy.
var ErrNotRegistered = numbers.ErrNotRegistered

// dialQuietly is the time after which an unsuccessful Dial writes a log line.
const dialQuietly = 3 * time.Second

// findGrid tries the members until one answers or ctx ends.
func (c *Client) findGrid(ctx context.Context, cfg Config) error {
	call := ask(c.session, (*session.Machine).NewCall)
	began, reported := c.clock.Mono(), false
	if err := ctx.Err(); err != nil {
		return failure.Errorf(sequencer.ErrUnavailable, "client: dial: the context had ended before the call: %w", err)
	}
	var last error
	for {
		err := c.lookUp(ctx, -1, true)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil { // else err only reports the end of ctx
			last = err
		}
		if isFinal(err) {
			return err
		}
		if !reported && c.clock.Mono()-began > dialQuietly {
			log := c.log
			if cfg.Logger == nil {
				log = logqueue.Logger(slog.Default())
			}
			reported = true
			log.Warn("no member answers yet; retrying", "addrs", strings.Join(cfg.Addrs, ", "), "error", oneLine(last))
		}
		retry, _ := c.tried(call, "", sequencer.ErrUnavailable)
		signal.Sleep(ctx, retry.Pause)
		if ctx.Err() != nil {
			what, remedy := "no member answered at", "check that members serve the API there"
			if errors.Is(last, errNoGrid) {
				what, remedy = "no member of a formed grid answered at", "GET /readyz of a member has the reason"
			}
			return failure.Errorf(sequencer.ErrUnavailable, "client: %s %s: %w; last error: %s; %s",
				what, strings.Join(cfg.Addrs, ", "), ctx.Err(), oneLine(last), remedy)
		}
	}
}

// isFinal reports whether a search for the directory that ended with err is not worth another try.
func isFinal(err error) bool {
	return errors.Is(err, sequencer.ErrInvalidConfig) || errors.Is(err, wire.ErrBadRequest) || isDenied(err)
}

// newClient returns a running client that has not fetched a directory yet.
func newClient(cfg Config) (*Client, error) {
	if len(cfg.Addrs) == 0 {
		return nil, failure.Errorf(sequencer.ErrInvalidConfig,
			"client: Addrs is empty; give the API address of at least one member")
	}
	for _, addr := range cfg.Addrs {
		if err := tcp.CheckAddr(addr); err != nil {
			return nil, failure.Errorf(sequencer.ErrInvalidConfig, "client: address %q: %w", addr, err)
		}
	}
	if err := wire.CheckLabels(cfg.Labels); err != nil {
		return nil, failure.Errorf(sequencer.ErrInvalidConfig, "client: Labels: %w", err)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.Logger = logqueue.Logger(cfg.Logger)
	creds, err := cfg.credentials()
	if err != nil {
		return nil, err
	}
	own, err := openProcess(cfg)
	if err != nil {
		return nil, err
	}
	c := &Client{
		process:   own,
		memory:    &memory{nodes: own.Nodes, seats: map[*attachment.Control]*identity.Seat{}},
		holder:    handles.NewHolder(),
		about:     &wire.About{Build: buildinfo.Read().Short(), Labels: maps.Clone(cfg.Labels)},
		addrs:     append([]string(nil), cfg.Addrs...),
		log:       cfg.Logger,
		transport: cfg.parts.Transport,
		clock:     cfg.parts.Clock,
		rounds:    rounds{turn: make(chan struct{}, 1), hurry: make(chan struct{}, 1)},
		tasks:     handles.NewTasks("client"),
	}
	if c.clock == nil {
		c.clock = handles.NewClock()
	}
	if c.transport == nil {
		dial := cfg.Dial
		if dial == nil {
			dial = calls.TCP
		}
		h := calls.NewPool(dial, creds)
		c.transport, c.closeHTTP = h, h.Close
		c.counts.dials = h
	}
	c.session = &runner{c: c, nudge: make(chan struct{}, 1), streams: map[*session.Stream]context.CancelFunc{},
		machine: session.New(session.Config{Addrs: c.addrs, Rand: rand.N[time.Duration]})}
	owns := func(addr string) bool { return ask(c.session, func(m *session.Machine) bool { return m.Owns(addr) }) }
	c.spans = &spans{Tracer: tracing.New(cfg.Trace), owns: owns, failovers: map[string]*failover{},
		over: map[string]bool{}}
	c.handles = handles.New(c.tasks, c.session)
	c.releases = handles.NewReleases(c.tasks)
	c.tasks.Go(c.session.run)
	if creds != nil {
		c.tasks.Go(func(ctx context.Context) { c.watchCredentials(ctx, creds) })
	}
	return c, nil
}

// Member is a member in a client's directory.
type Member struct {
	Incarnation string // the member's ID and its start
	API         string // address, host:port
}

// Members returns the grid's members as in the client's directory, by incarnation.
func (c *Client) Members() []Member {
	d := c.directory.Load()
	if d == nil {
		return nil
	}
	members := make([]Member, len(d.Members))
	for i, m := range d.Members {
		members[i] = Member{Incarnation: string(m.Incarnation), API: m.API}
	}
	return members
}

// Leave releases every logical node and closes the client. It returns an error that matches
// ctx.Err() if ctx ended first; the client is closed then too.
//
// A logical node is free once its grant has ended, even without a release. Leave therefore ends by
// itself if no member answers until the last grant has ended, a window at most, with an error that
// matches sequencer.ErrUnavailable.
//
// Errors: sequencer.ErrClosed, also when Close ends it; sequencer.ErrUnavailable; and, when ctx
// ended, an error that matches ctx.Err() and sequencer.ErrUnavailable.
func (c *Client) Leave(ctx context.Context) error {
	if err := c.tasks.Err(); err != nil {
		return err
	}
	window := ask(c.session, (*session.Machine).Window)
	failed := c.handles.Leave(ctx, c.releases, c.clock, window)
	_ = c.Close()
	return failed
}

// Close ends the client and every handle immediately, without a message to the grid,
// which reclaims the logical nodes when the session has ended. Handles return
// sequencer.ErrClosed from then on. Closing twice does nothing the second time.
func (c *Client) Close() error {
	c.handles.Close()
	c.spans.close()
	if c.closeHTTP != nil {
		c.closeHTTP()
	}
	c.process.close()
	return nil
}
