package discovery_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/discovery"
)

// lookup is a function that finds members, with a result that a test sets.
type lookup struct {
	mu    sync.Mutex // guards what follows
	texts []string
	err   error
	calls atomic.Int64
}

func (l *lookup) set(err error, texts ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.texts, l.err = texts, err
}

func (l *lookup) call(context.Context) ([]string, error) {
	l.calls.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.texts, l.err
}

// runningLookup returns a finder that runs with an address and a function.
func runningLookup(t *testing.T, names discovery.Names,
	call func(context.Context) ([]string, error)) *discovery.Finder {
	t.Helper()
	f, err := discovery.New([]string{"10.0.0.1"}, discovery.Config{Names: names, Port: 7946, Log: quiet, Lookup: call})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { f.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	return f
}

// TestLookup: a function finds members by addresses and DNS names. After a failure, or an entry that
// cannot be resolved, the last addresses stay, and the function is named with the reason.
func TestLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := &table{hosts: map[string][]string{"b": {"10.0.0.9"}}, srv: map[string][]*net.SRV{}}
		var l lookup
		l.set(nil, "10.0.0.2", "10.0.0.3:1234", "b")
		f := runningLookup(t, names, l.call)
		found := []string{"10.0.0.1:7946", "10.0.0.2:7946", "10.0.0.3:1234", "10.0.0.9:7946"}
		for _, step := range []struct {
			what   string
			change func()
			want   []string
			fault  string
		}{
			{"found", func() {}, found, ""},
			{"an error", func() { l.set(errors.New("the registry is away")) }, found, "the registry is away"},
			{"not an address", func() { l.set(nil, "10.0.0.4", "file:/x") }, found, "file:/x"},
			{"too many", func() { l.set(nil, make([]string, 257)...) }, found, "at most 256"},
			{"another one", func() { l.set(nil, "10.0.0.4") }, []string{"10.0.0.1:7946", "10.0.0.4:7946"}, ""},
			{"none", func() { l.set(nil) }, []string{"10.0.0.1:7946"}, ""},
		} {
			step.change()
			rest(20 * time.Second)
			if got := f.Addrs(); !slices.Equal(got, step.want) {
				t.Errorf("%s: %v, want %v", step.what, got, step.want)
			}
			fault := fmt.Sprint(f.Unresolved())
			if step.fault == "" && fault != "[]" || !strings.Contains(fault, step.fault) ||
				step.fault != "" && !strings.Contains(fault, discovery.LookupEntry) {
				t.Errorf("%s: unresolved %s, want %q", step.what, fault, step.fault)
			}
		}
		before := l.calls.Load()
		rest(time.Minute)
		if n := l.calls.Load() - before; n < 9 || n > 16 {
			t.Errorf("%d calls in a minute", n)
		}
	})
}

// TestLookupThatBlocks: a function that ignores its context stops neither the other entries nor the end, is
// called once, and its late result counts.
func TestLookupThatBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		release := make(chan struct{})
		f := runningLookup(t, &table{}, func(context.Context) ([]string, error) {
			if calls.Add(1) == 1 {
				<-release
			}
			return []string{"10.0.0.2"}, nil
		})
		rest(time.Minute)
		if n := calls.Load(); n != 1 {
			t.Errorf("%d calls at the same time", n)
		}
		if fault := fmt.Sprint(f.Unresolved()); !strings.Contains(fault, "has not returned") {
			t.Errorf("unresolved: %s", fault)
		}
		close(release)
		rest(20 * time.Second)
		if got := f.Addrs(); !slices.Equal(got, []string{"10.0.0.1:7946", "10.0.0.2:7946"}) || len(f.Unresolved()) > 0 {
			t.Errorf("%v, %v", got, f.Unresolved())
		}
	})
}
