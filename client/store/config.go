package store

import (
	"cmp"
	"context"
	"log/slog"
	"time"
	"unicode/utf8"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/logqueue"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Config configures a client. The zero value is a good choice.
type Config struct {
	// Prefix begins every key, such as "ids/". At most 200 bytes of UTF-8.
	Prefix string
	// Pool is the number of logical nodes that are made for a new sequencer, and so the
	// number of processes that can use it at the same time, until Scale changes it.
	// 0 = 32, or the sequencer's node count if that is smaller.
	Pool int
	// Window is the length of a grant: the time for which a client can issue IDs while the store is
	// down, and for which a crashed client's node stays reserved. At least 1 s; 0 = 15 s, unless
	// the store suggests another ([Windowed]). Give all clients of a sequencer the same.
	Window time.Duration
	// CallTimeout bounds one call of the store; at most half a window. 0 = that, or 30 s if that is
	// shorter.
	CallTimeout time.Duration
	// AcquireMaxDelay bounds the pause between two rounds in which no logical node was
	// free; 0 = 30 s.
	AcquireMaxDelay time.Duration
	// ReadyTimeout bounds the time for which Health waits until the other holders know a version
	// after its predecessor crashed; see Known. More than a window; 0 = 2 minutes.
	ReadyTimeout time.Duration
	// MaxSkew bounds the difference between this machine's clock and the clock of a store that has
	// one, and, with FailoverBound, the difference between any two clients' clocks; 0 = 5 s.
	MaxSkew time.Duration
	// MaxClockBack is the largest step back of this machine's clock before OnLost is called; 0 = 5
	// s. IDs ascend in any case: the handle waits until the clock has reached its last ID again.
	MaxClockBack time.Duration
	// FailoverBound is the longest time for which a server that was replaced still
	// acknowledges writes. It must be set for a store that may lose acknowledged writes
	// in a failover, and then makes a node wait after one; see the package's DESIGN.md. All clients of a
	// sequencer need the same Window then: the store has it, and a create or open with another one fails.
	FailoverBound time.Duration
	// Task names this process in the records, for people; "" = a random ID. At most 256
	// bytes of UTF-8. Two processes with one task are two holders.
	Task string
	// Known, if not nil, returns the versions of other nodes that this process has seen running, by
	// node. Each renewal writes them into the record. A holder whose predecessor crashed is ready
	// when every other holder knows its version. A renewal waits for it for 0.1 s, and writes the result
	// before if it has not returned.
	Known func() map[int]uint64
	// OnLost, if not nil, is called in a goroutine of its own when a logical node is
	// lost, and again as long as there is none in its place. IDs that were granted stay
	// usable, and the client takes another node by itself; a process that must not
	// outlive its node can end itself here. While 64 calls have not returned, none is added.
	OnLost func(Loss)
	// OnRetry, if not nil, is called by Open with the error of each attempt to use the store that it repeats.
	OnRetry func(error)
	// Logger receives events for the operator; nil = none.
	Logger *slog.Logger
	// Trace, if not nil, is called at the beginning of each create, attach and renew, with that word as the
	// name and the attribute sequencer. It returns a context for the operation's parts and a function, which is
	// called at the end with the error or nil. Both may be called from any number of goroutines, and run in
	// goroutines of their own. An operation waits for each for 0.1 s at most; renewals do not wait. Operations
	// beyond 1,000 open ones are not traced. A panic ends the process. Module otel is for OpenTelemetry.
	Trace func(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, func(error))
	// Clock reads the wall clock, and must not block; nil = time.Now. With one the time of each ID is exact, also in
	// a bubble of testing/synctest, at the cost of a look at the monotonic clock for each ID.
	Clock func() time.Time
}

// Loss describes a lost logical node, with the cause.
type Loss struct {
	Sequencer string
	Node      sequencer.NodeID
	Version   uint64
	// Cause matches sequencer.ErrDetached if another holder has the node or it was
	// retired, ErrExpired if it was not renewed in time, ErrDamaged, or ErrClockBack.
	Cause error
	// Until is the end of the grant, which may be used until then.
	Until time.Time
}

// Windowed is implemented by a store that suggests another default window, because each
// request has a price.
type Windowed interface {
	DefaultWindow() time.Duration
}

// Config defaults and limits.
const (
	defaultPool         = 32
	defaultWindow       = 15 * time.Second
	windowMin           = time.Second
	windowMax           = 24 * time.Hour
	defaultMaxDelay     = 30 * time.Second
	defaultCallTimeout  = 30 * time.Second
	defaultReadyTimeout = 2 * time.Minute
	defaultMaxSkew      = 5 * time.Second
	prefixMax           = 200
)

// Check returns the error that [Open] returns for a configuration that cannot work with a store, before it
// begins. It calls only the store's DefaultWindow. Errors match [sequencer.ErrInvalidConfig].
func (cfg Config) Check(s Store) error {
	_, err := cfg.resolved(s)
	return err
}

func (cfg Config) resolved(s Store) (Config, error) {
	window := defaultWindow
	if w, suggests := s.(Windowed); suggests {
		window = w.DefaultWindow()
	}
	cfg.Window = cmp.Or(cfg.Window, window)
	for _, d := range []struct {
		name  string
		value *time.Duration
		other time.Duration
		low   time.Duration
		high  time.Duration
	}{
		{"Window", &cfg.Window, 0, windowMin, windowMax},
		{"CallTimeout", &cfg.CallTimeout, min(cfg.Window/2, defaultCallTimeout), time.Millisecond, cfg.Window / 2},
		{"AcquireMaxDelay", &cfg.AcquireMaxDelay, defaultMaxDelay, 10 * time.Millisecond, windowMax},
		{"ReadyTimeout", &cfg.ReadyTimeout, max(defaultReadyTimeout, 2*cfg.Window), cfg.Window + 1, 2 * windowMax},
		{"MaxSkew", &cfg.MaxSkew, defaultMaxSkew, time.Millisecond, windowMax},
		{"MaxClockBack", &cfg.MaxClockBack, defaultMaxSkew, time.Millisecond, windowMax},
	} {
		*d.value = cmp.Or(*d.value, d.other)
		if *d.value < d.low || *d.value > d.high {
			return Config{}, failure.Errorf(sequencer.ErrInvalidConfig, "store: Config.%s: %v is outside %v to %v; give a "+
				"value inside, or 0 for the default", d.name, *d.value, d.low, d.high)
		}
	}
	switch _, namesServers := s.(Generations); {
	case cfg.FailoverBound < 0 || cfg.FailoverBound > windowMax:
		return Config{}, failure.Errorf(sequencer.ErrInvalidConfig, "store: Config.FailoverBound: %v is outside 0 to %v",
			cfg.FailoverBound, windowMax)
	case cfg.FailoverBound > 0 && !namesServers:
		return Config{}, failure.Errorf(sequencer.ErrInvalidConfig, "store: Config.FailoverBound: %s does not name its "+
			"servers, so a failover cannot be noticed; leave it out, and use a store that loses no acknowledged write",
			nameOf(s))
	case cfg.Pool < 0 || cfg.Pool > 1<<16:
		return Config{}, failure.Errorf(sequencer.ErrInvalidConfig,
			"store: Config.Pool: %d is outside 1 to the sequencer's node count; give 0 for %d", cfg.Pool, defaultPool)
	case len(cfg.Prefix) > prefixMax || !utf8.ValidString(cfg.Prefix):
		return Config{}, failure.Errorf(sequencer.ErrInvalidConfig,
			"store: Config.Prefix: %.40q has %d bytes; give at most %d of UTF-8", cfg.Prefix, len(cfg.Prefix), prefixMax)
	case len(cfg.Task) > record.TaskMax || !utf8.ValidString(cfg.Task):
		return Config{}, failure.Errorf(sequencer.ErrInvalidConfig,
			"store: Config.Task: %.40q has %d bytes; give at most %d of UTF-8", cfg.Task, len(cfg.Task), record.TaskMax)
	}
	cfg.Pool = cmp.Or(cfg.Pool, defaultPool)
	cfg.Task = cmp.Or(cfg.Task, handles.RandomHex())
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.Logger = logqueue.Logger(cfg.Logger)
	return cfg, nil
}
