package store

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/snowgrid/snowgrid/internal/record"
)

// TestOutdatedDocumentOfAWatch: a document that a watch has read before the name was created again does not end
// the handle of the later life.
func TestOutdatedDocumentOfAWatch(t *testing.T) {
	inBubble(t, func(b *bench) {
		w := newWatched()
		b.store = w
		key := record.KeysOf("", "orders").Document()
		var armed atomic.Bool
		read := make(chan struct{})
		told := w.after
		w.after = func(ctx context.Context, call, changed string) error {
			if call == "load" && strings.HasSuffix(changed, key) && armed.CompareAndSwap(true, false) {
				<-read // the answer is slow
			}
			return told(ctx, call, changed)
		}
		c := b.client()
		b.next(b.create(c))
		if err := c.DestroySequencer(b.Context(), "orders"); err != nil {
			b.Fatal(err)
		}
		synctest.Wait()
		armed.Store(true)
		w.watchers[0] <- key
		synctest.Wait()
		if armed.Load() {
			b.Fatal("the watch did not read the document")
		}
		h := b.create(c)
		b.next(h)
		close(read)
		synctest.Wait()
		b.next(h)
	})
}
