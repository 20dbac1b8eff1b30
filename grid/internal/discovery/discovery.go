// Package discovery resolves the entries by which a member finds others, and keeps the addresses
// current:
//
//	10.0.0.1:7946                 an address; without a port the default one
//	ids.internal[:7946]           a DNS name: all its A and AAAA records
//	srv:_gossip._tcp.ids.internal a name with SRV records: their targets and ports
//	file:/etc/ids/members         a file with one address or DNS name per line
//
// A function of the process finds members as well: see Config.Lookup.
//
// Addresses are hints: gossip may find a member that is not listed, and a listed member need not
// run. While an entry cannot be resolved, its last addresses stay.
package discovery

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/librarylog"
	"github.com/snowgrid/snowgrid/internal/signal"
)

// Bounds on entries and their addresses.
const (
	MaxEntries   = 256
	maxAddrs     = 256 // per entry
	maxAllAddrs  = 1024
	loggedAddrs  = 8 // in one record
	lookupLimit  = 5 * time.Second
	refreshEvery = 5 * time.Second // for DNS names, and for names in a file
	rereadEvery  = time.Second     // for files
	retryFirst   = time.Second
	retryMost    = 5 * time.Second
)

// Config configures a Finder.
type Config struct {
	Names Names
	Port  int // for entries without one
	Log   *slog.Logger
	// Lookup, if not nil, returns addresses and DNS names of members, each with a port or without.
	Lookup func(context.Context) ([]string, error)
}

// LookupEntry is the name of Config.Lookup as an entry, in logs and in Unresolved.
const LookupEntry = "Config.Discover"

// Finder resolves entries. Its methods are safe for concurrent use.
type Finder struct {
	cfg     Config
	sources []*source
	changed signal.Signal

	mu      sync.Mutex // guards the fields below; never held while waiting
	found   map[*source][]string
	failing map[*source]Unresolved
}

// New returns a finder for entries that Check accepts.
func New(entries []string, cfg Config) (*Finder, error) {
	f := &Finder{cfg: cfg, changed: signal.New(), found: map[*source][]string{}, failing: map[*source]Unresolved{}}
	for _, text := range entries {
		e, err := parse(text, cfg.Port)
		if err != nil {
			return nil, err
		}
		s := &source{entry: e, names: cfg.Names, port: cfg.Port}
		f.sources = append(f.sources, s)
		if e.kind == addressEntry {
			f.found[s] = []string{e.text}
		}
	}
	if cfg.Lookup != nil {
		f.sources = append(f.sources, &source{entry: entry{kind: lookupEntry, text: LookupEntry}, names: cfg.Names,
			port: cfg.Port, lookup: cfg.Lookup})
	}
	return f, nil
}

// Run resolves the entries until ctx ends. Each is repeated with jitter, so that members started
// together do not send queries together.
func (f *Finder) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, s := range f.sources {
		if s.entry.kind != addressEntry {
			wg.Go(func() { f.follow(ctx, s) })
		}
	}
	wg.Wait()
}

// Addrs returns the current addresses, IP:port, sorted.
func (f *Finder) Addrs() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, addrs := range f.found {
		out = append(out, addrs...)
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), maxAllAddrs)]
}

// Complete reports whether every entry has been resolved at least once, to addresses or to none.
func (f *Finder) Complete() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.found) == len(f.sources)
}

// Changed receives a value when the addresses have changed.
func (f *Finder) Changed() <-chan struct{} { return f.changed }

// follow keeps the addresses of one source current.
func (f *Finder) follow(ctx context.Context, s *source) {
	var p pace
	var failures librarylog.Sparse
	began := time.Now()
	for ctx.Err() == nil {
		addrs, err := f.resolve(ctx, s)
		if ctx.Err() != nil {
			return
		}
		failed := cmp.Or(err, s.failed)
		f.note(s, failed, time.Now())
		if failed != nil {
			if skipped, due := failures.Due(time.Since(began)); due {
				f.cfg.Log.Warn("join address not resolved; retrying", "entry", s.entry.text, "port", s.entry.port,
					"error", failed, "similar_omitted", skipped)
			}
		}
		if err == nil && f.replace(s, addrs) {
			f.cfg.Log.Info("join addresses changed", "entry", s.entry.text, "count", len(addrs),
				"addrs", addrs[:min(len(addrs), loggedAddrs)])
		}
		every := refreshEvery
		if s.entry.kind == fileEntry {
			every = rereadEvery
		}
		signal.Sleep(ctx, p.next(every, err, rand.Float64())) //nolint:gosec // jitter
	}
}

func (f *Finder) resolve(ctx context.Context, s *source) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	addrs, err := s.resolve(ctx, time.Now())
	slices.Sort(addrs)
	addrs = slices.Compact(addrs)
	return addrs[:min(len(addrs), maxAddrs)], err
}

func (f *Finder) replace(s *source, addrs []string) bool {
	f.mu.Lock()
	was, known := f.found[s]
	f.found[s] = addrs
	f.mu.Unlock()
	if known && slices.Equal(was, addrs) {
		return false
	}
	f.changed.Send()
	return true
}

// pace determines when an entry is resolved again. Its zero value is ready.
type pace struct{ failures int }

// next returns the wait after a result, given the entry's usual interval and a random number from 0
// to 1. After a success it is 80 to 120 % of the interval. After failures it is half to all of a
// backoff that doubles up to a bound.
func (p *pace) next(every time.Duration, err error, random float64) time.Duration {
	if err == nil {
		p.failures = 0
		return time.Duration(float64(every) * (0.8 + 0.4*random))
	}
	wait := min(retryFirst<<min(p.failures, 10), retryMost)
	p.failures++
	return time.Duration(float64(wait) * (0.5 + 0.5*random))
}
