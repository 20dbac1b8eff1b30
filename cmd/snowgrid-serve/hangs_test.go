package main

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
)

// hangingStore calls hang from the first one on, once hangs is set.
type hangingStore struct {
	*store.Memory
	hangs func()
}

func (h hangingStore) Load(ctx context.Context, key string) (store.Entry, error) {
	h.hangs()
	return h.Memory.Load(ctx, key)
}

// addHangingKind adds a kind of store, --store hanging:, until the test ends.
func addHangingKind(t *testing.T, open func() opened) {
	t.Cleanup(func() { delete(locators, "hanging") })
	locators["hanging"] = func(context.Context, storeFlags, string, string) (located, error) {
		return located{like: store.NewMemory(), open: func(context.Context, func(error)) (opened, error) {
			return open(), nil
		}}, nil
	}
}

// TestSignalWhileTheStoreHangs: the process ends in time after a signal, and names the cause, while the store's open, a
// call or its end does not return.
func TestSignalWhileTheStoreHangs(t *testing.T) {
	ended := make(chan struct{})
	defer close(ended)
	none := func() {}
	for _, at := range []string{"open", "load", "end"} {
		t.Run(at, func(t *testing.T) {
			reached := make(chan struct{})
			var once sync.Once
			hang := func() { once.Do(func() { close(reached) }); <-ended }
			hangs := map[string]func(){"open": none, "load": none, "end": none}
			hangs[at] = hang
			addHangingKind(t, func() opened {
				hangs["open"]()
				return opened{hangingStore{store.NewMemory(), hangs["load"]}, "hanging", hangs["end"]}
			})
			ctx, stop := context.WithCancel(t.Context())
			var errs bytes.Buffer
			status := make(chan int, 1)
			go func() {
				status <- run(ctx, []string{"serve", "--store", "hanging:", "--http-addr", "127.0.0.1:0", "--grpc-addr",
					"none", "--leave-timeout", "1s"}, streams{out: &bytes.Buffer{}, err: &errs})
			}()
			if at != "end" {
				<-reached
			}
			stop()
			select {
			case got := <-status:
				if at == "end" && (got != exitFailed || !strings.Contains(errs.String(), "hangs")) {
					t.Errorf("status %d: %s", got, errs.String())
				}
			case <-time.After(20 * time.Second):
				t.Fatal("the process has not ended")
			}
		})
	}
}

// TestOpenHangs: a store that does not open within --timeout is an error that names the cause.
func TestOpenHangs(t *testing.T) {
	ended := make(chan struct{})
	defer close(ended)
	addHangingKind(t, func() opened { <-ended; return opened{} })
	for _, args := range [][]string{{"status"}, {"serve", "--http-addr", "127.0.0.1:0", "--grpc-addr", "none"}} {
		status, _, errs := command(t, append(args, "--store", "hanging:", "--timeout", "100ms")...)
		if status != exitFailed || !strings.Contains(errs, "--store hanging:...") || !strings.Contains(errs, "hangs") {
			t.Errorf("%s: status %d: %s", args[0], status, errs)
		}
	}
}
