package store

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

// TestTrace: creates, attaches and renewals have spans. A function that does not return delays no renewal.
func TestTrace(t *testing.T) {
	inBubble(t, func(b *bench) {
		var mu sync.Mutex
		var spans []string
		release := make(chan struct{})
		var blocked bool
		type parent struct{}
		c := b.client(func(cfg *Config) {
			cfg.Trace = func(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, func(error)) {
				mu.Lock()
				wait := blocked
				mu.Unlock()
				if wait {
					<-release
				}
				of := ctx.Value(parent{})
				return context.WithValue(ctx, parent{}, name), func(err error) {
					mu.Lock()
					defer mu.Unlock()
					spans = append(spans, fmt.Sprintf("%s %v in %v: %v", name, attrs, of, err))
				}
			}
		})
		s := b.create(c)
		n := node(b, s)
		b.create(c) // no span
		time.Sleep(1400 * time.Millisecond)
		synctest.Wait()
		mu.Lock()
		want := []string{"attach [sequencer=orders] in create: <nil>", "create [sequencer=orders] in <nil>: <nil>",
			fmt.Sprintf("renew [sequencer=orders node=%d] in <nil>: <nil>", n)}
		if !slices.Equal(spans, want) {
			b.Errorf("the spans are %q, want %q", spans, want)
		}
		spans = nil
		mu.Unlock()
		striped, err := c.CreateStriped(b.Context(), "orders", sequencer.Config{}, 1)
		if err != nil {
			b.Fatal(err)
		}
		_ = striped.Leave(b.Context())
		mu.Lock()
		renews := func(span string) bool { return strings.HasPrefix(span, "renew") } // the first handle may
		got := slices.DeleteFunc(spans, renews)
		if want := []string{want[0], want[1]}; !slices.Equal(got, want) {
			b.Errorf("the spans of a striped one are %q, want %q", got, want)
		}
		blocked = true
		mu.Unlock()
		time.Sleep(10 * time.Minute)
		b.next(s)
		began := time.Now()
		if _, err := c.OpenSequencer(b.within(time.Second), "orders"); err != nil {
			b.Error(err)
		}
		if waited := time.Since(began); waited != 0 {
			b.Errorf("an open has no span, and waited %v", waited)
		}
		close(release)
	})
}
