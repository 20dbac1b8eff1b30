package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
)

// broken is a store that breaks one promise. Functions that are nil work.
type broken struct {
	*store.Memory
	load func(b *broken, ctx context.Context, key string) (store.Entry, error)
	swap func(b *broken, ctx context.Context, e store.Entry) (store.Revision, error)
	list func(b *broken, ctx context.Context, prefix string) ([]store.Entry, error)
	del  func(b *broken, ctx context.Context, key string) error

	mu   *sync.Mutex
	old  map[string]store.Entry
	busy map[string]int
}

func (b *broken) Load(ctx context.Context, key string) (store.Entry, error) {
	if b.load != nil {
		return b.load(b, ctx, key)
	}
	return b.Memory.Load(ctx, key)
}

func (b *broken) Swap(ctx context.Context, e store.Entry) (store.Revision, error) {
	if b.swap != nil {
		return b.swap(b, ctx, e)
	}
	return b.Memory.Swap(ctx, e)
}

func (b *broken) List(ctx context.Context, prefix string) ([]store.Entry, error) {
	if b.list != nil {
		return b.list(b, ctx, prefix)
	}
	return b.Memory.List(ctx, prefix)
}

func (b *broken) Delete(ctx context.Context, key string) error {
	if b.del != nil {
		return b.del(b, ctx, key)
	}
	return b.Memory.Delete(ctx, key)
}

// overwrite writes an entry whatever its revision is.
func (b *broken) overwrite(ctx context.Context, e store.Entry) (store.Revision, error) {
	for {
		have, _ := b.Memory.Load(ctx, e.Key)
		e.Revision = have.Revision
		if revision, err := b.Memory.Swap(ctx, e); !errors.Is(err, store.ErrChanged) {
			return revision, err
		}
	}
}

// renamed is a store that finds keys by another key.
func renamed(name func(string) string) broken {
	return broken{
		load: func(b *broken, ctx context.Context, key string) (store.Entry, error) {
			e, err := b.Memory.Load(ctx, name(key))
			e.Key = key
			return e, err
		},
		swap: func(b *broken, ctx context.Context, e store.Entry) (store.Revision, error) {
			e.Key = name(e.Key)
			return b.Memory.Swap(ctx, e)
		},
	}
}

// listed is a store that changes its lists.
func listed(change func([]store.Entry) []store.Entry) broken {
	return broken{list: func(b *broken, ctx context.Context, prefix string) ([]store.Entry, error) {
		found, err := b.Memory.List(ctx, prefix)
		return change(found), err
	}}
}

// matched is a store whose lists match a prefix in another way.
func matched(match func(key, prefix string) bool) broken {
	return broken{list: func(b *broken, ctx context.Context, prefix string) ([]store.Entry, error) {
		all, err := b.Memory.List(ctx, "")
		return slices.DeleteFunc(all, func(e store.Entry) bool { return !match(e.Key, prefix) }), err
	}}
}

// changedBodies is a store that writes other bodies.
func changedBodies(change func([]byte) []byte) broken {
	return broken{swap: func(b *broken, ctx context.Context, e store.Entry) (store.Revision, error) {
		if len(e.Body) > 0 {
			e.Body = change(slices.Clone(e.Body))
		}
		return b.Memory.Swap(ctx, e)
	}}
}

// brokenStores are the stores that must not pass, with the checks that have to fail.
var brokenStores = map[string]struct {
	store  broken
	failed []string
}{
	"conditions are ignored": {broken{swap: func(b *broken, ctx context.Context, e store.Entry) (store.Revision, error) {
		return b.overwrite(ctx, e)
	}}, []string{"CreateOnce", "StaleRevision", "AbsentKey", "ABA", "ConcurrentCreates", "ConcurrentSwaps", "Counter",
		"Deleted"}},
	"a create replaces": {broken{swap: func(b *broken, ctx context.Context, e store.Entry) (store.Revision, error) {
		if e.Revision == "" && e.Key != "" {
			return b.overwrite(ctx, e)
		}
		return b.Memory.Swap(ctx, e)
	}}, []string{"CreateOnce", "StaleRevision", "ConcurrentCreates"}},
	"a swap creates": {broken{swap: func(b *broken, ctx context.Context, e store.Entry) (store.Revision, error) {
		if _, err := b.Memory.Load(ctx, e.Key); errors.Is(err, store.ErrNoRecord) {
			e.Revision = ""
		}
		return b.Memory.Swap(ctx, e)
	}}, []string{"AbsentKey", "Deleted"}},
	"only the existence is compared": {broken{swap: func(b *broken, ctx context.Context, e store.Entry) (store.Revision,
		error) {
		if e.Revision != "" {
			return b.overwrite(ctx, e)
		}
		return b.Memory.Swap(ctx, e)
	}}, []string{"StaleRevision", "ABA", "ConcurrentSwaps", "Counter"}},
	"a comparison apart from the write": {broken{swap: func(b *broken, ctx context.Context, e store.Entry) (store.Revision,
		error) {
		if err := ctx.Err(); err != nil || e.Key == "" {
			return b.Memory.Swap(ctx, e)
		}
		if have, _ := b.Memory.Load(ctx, e.Key); have.Revision != e.Revision {
			return "", store.ErrChanged
		}
		for range 20 {
			runtime.Gosched()
		}
		return b.overwrite(ctx, e)
	}}, []string{"ConcurrentCreates", "ConcurrentSwaps", "Counter"}},
	"a refusal that was written": {broken{swap: func(b *broken, ctx context.Context, e store.Entry) (store.Revision,
		error) {
		revision, err := b.Memory.Swap(ctx, e)
		if errors.Is(err, store.ErrChanged) {
			_, _ = b.overwrite(ctx, e)
		}
		return revision, err
	}}, []string{"CreateOnce", "StaleRevision", "AbsentKey"}},
	// Two revisions in turn: each is right for the state after the next one again.
	"revisions repeat": {broken{
		load: func(b *broken, ctx context.Context, key string) (store.Entry, error) {
			e, err := b.Memory.Load(ctx, key)
			if err == nil {
				e.Revision = short(e.Revision, len(e.Body))
			}
			return e, err
		},
		swap: func(b *broken, ctx context.Context, e store.Entry) (store.Revision, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			have, err := b.Memory.Load(ctx, e.Key)
			if err == nil && short(have.Revision, len(have.Body)) == e.Revision {
				e.Revision = have.Revision
			}
			revision, err := b.Memory.Swap(ctx, e)
			if err != nil {
				return "", err
			}
			return short(revision, len(e.Body)), nil
		},
	}, []string{"ABA", "RevisionsDiffer"}},
	"a deleted key keeps its revision": {broken{
		swap: func(b *broken, ctx context.Context, e store.Entry) (store.Revision, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			if old, is := b.old[e.Key]; is && old.Revision == e.Revision {
				e.Revision = ""
				delete(b.old, e.Key)
			}
			return b.Memory.Swap(ctx, e)
		},
		del: func(b *broken, ctx context.Context, key string) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.old[key], _ = b.Memory.Load(ctx, key)
			return b.Memory.Delete(ctx, key)
		},
	}, []string{"Deleted"}},
	"reads are stale": {broken{load: func(b *broken, ctx context.Context, key string) (store.Entry, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		e, err := b.Memory.Load(ctx, key)
		if err != nil {
			return e, err
		}
		old, is := b.old[key]
		if b.busy[key]++; is && b.busy[key]%5 == 0 {
			return old, nil
		}
		b.old[key] = e
		return e, nil
	}}, []string{"Counter"}},
	"case is ignored": {renamed(strings.ToLower), []string{"Keys"}},
	"keys are unescaped": {renamed(func(key string) string { un, _ := url.PathUnescape(key); return un }),
		[]string{"Keys"}},
	"long keys are cut": {renamed(func(key string) string { return key[:min(len(key), 255)] }), []string{"Keys"}},
	"a list has one page": {listed(func(found []store.Entry) []store.Entry { return found[:min(len(found), 1000)] }),
		[]string{"ListPages"}},
	"a list has no order": {listed(func(found []store.Entry) []store.Entry { slices.Reverse(found); return found }),
		[]string{"ListPrefix", "ListPages"}},
	"a list has all keys":  {matched(func(string, string) bool { return true }), []string{"ListPrefix", "ListPages"}},
	"_ matches any letter": {matched(func(key, prefix string) bool { return like(key, prefix) }), []string{"ListPrefix"}},
	"a list ignores case": {matched(func(key, prefix string) bool {
		return strings.HasPrefix(strings.ToLower(key), strings.ToLower(prefix))
	}), []string{"ListPrefix"}},
	"a list ends at a slash": {matched(func(key, prefix string) bool {
		return strings.HasPrefix(key, prefix) && !strings.Contains(key[len(prefix):], "/")
	}), []string{"Keys", "ListPrefix"}},
	"a list mixes states": {listed(func(found []store.Entry) []store.Entry {
		for i := range found {
			found[i].Revision = "newer"
		}
		return found
	}), []string{"ListPrefix"}},
	"bodies are text": {changedBodies(func(body []byte) []byte {
		return []byte(strings.ToValidUTF8(string(body), "?"))
	}), []string{"Bodies"}},
	"bodies are trimmed": {changedBodies(func(body []byte) []byte {
		if text := strings.TrimSpace(string(body)); text != "" {
			return []byte(text)
		}
		return body
	}), []string{"Bodies"}},
	"bodies are cut": {changedBodies(func(body []byte) []byte { return body[:min(len(body), 65535)] }),
		[]string{"Bodies"}},
	"the body is the caller's": {broken{
		load: func(b *broken, ctx context.Context, key string) (store.Entry, error) {
			e, err := b.Memory.Load(ctx, key)
			b.mu.Lock()
			defer b.mu.Unlock()
			if written, is := b.old[key]; is && err == nil {
				e.Body = written.Body
			}
			return e, err
		},
		swap: func(b *broken, ctx context.Context, e store.Entry) (store.Revision, error) {
			revision, err := b.Memory.Swap(ctx, e)
			if err == nil {
				b.mu.Lock()
				defer b.mu.Unlock()
				b.old[e.Key] = e
			}
			return revision, err
		},
	}, []string{"Bodies"}},
	"meta is of the first write": {broken{load: func(b *broken, ctx context.Context, key string) (store.Entry, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		e, err := b.Memory.Load(ctx, key)
		if err != nil {
			return e, err
		}
		if _, is := b.old[key]; !is {
			b.old[key] = e
		}
		e.Meta = b.old[key].Meta
		return e, nil
	}}, []string{"Meta"}},
	"an empty key is one": {renamed(func(key string) string { return "x" + key }), []string{"EmptyKey"}},
	"contexts are ignored": {broken{swap: func(b *broken, ctx context.Context, e store.Entry) (store.Revision, error) {
		return b.Memory.Swap(context.WithoutCancel(ctx), e)
	}}, []string{"EndedContext"}},
	"an ended context is a refusal": {broken{swap: func(b *broken, ctx context.Context, e store.Entry) (store.Revision,
		error) {
		if ctx.Err() != nil {
			return "", store.ErrChanged
		}
		return b.Memory.Swap(ctx, e)
	}}, []string{"EndedContext"}},
	"an ended context is an absent key": {broken{load: func(b *broken, ctx context.Context, key string) (store.Entry,
		error) {
		if ctx.Err() != nil {
			return store.Entry{}, store.ErrNoRecord
		}
		return b.Memory.Load(ctx, key)
	}}, []string{"EndedContext"}},
}

// short returns one of a few revisions.
func short(r store.Revision, length int) store.Revision {
	return store.Revision(fmt.Sprintf("%c%d", r[len(r)-1]%2, length))
}

// like reports whether a key begins with a prefix in which _ stands for any letter.
func like(key, prefix string) bool {
	if len(key) < len(prefix) {
		return false
	}
	for i := range prefix {
		if prefix[i] != '_' && prefix[i] != key[i] {
			return false
		}
	}
	return true
}

// verdict is a test that may fail without failing the test around it.
type verdict struct {
	testing.TB
	mu     sync.Mutex
	failed bool
}

func (v *verdict) Helper()      {}
func (v *verdict) Log(...any)   {}
func (v *verdict) Error(...any) { v.fail() }
func (v *verdict) Fatal(...any) { v.fail(); runtime.Goexit() }
func (v *verdict) Logf(f string, a ...any) {
	_, _ = fmt.Fprintf(io.Discard, f, a...) // so that vet checks the formats
}
func (v *verdict) Errorf(f string, a ...any) { v.Logf(f, a...); v.fail() }
func (v *verdict) Fatalf(f string, a ...any) { v.Logf(f, a...); v.fail(); runtime.Goexit() }

func (v *verdict) fail() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.failed = true
}

// passes reports whether a store keeps a promise.
func (c check) passes(t *testing.T, s store.Store) bool {
	v := &verdict{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.run(v, func() store.Store { return s })
	}()
	select {
	case <-done:
	case <-time.After(checkFor + 10*time.Second):
		t.Fatalf("%s does not end", c.name)
	}
	return !v.failed
}

// TestSuiteNotices: each check fails for a store that breaks its promise, and no check
// but those that look at the promise does for one that keeps it.
func TestSuiteNotices(t *testing.T) {
	unnoticed := map[string]bool{}
	for _, c := range checks {
		unnoticed[c.name] = true
	}
	for name, broke := range brokenStores {
		for _, c := range checks {
			if !slices.Contains(broke.failed, c.name) {
				continue
			}
			delete(unnoticed, c.name)
			s := broke.store
			s.Memory, s.mu, s.old, s.busy = store.NewMemory(), &sync.Mutex{}, map[string]store.Entry{}, map[string]int{}
			if c.passes(t, &s) {
				t.Errorf("%s: %s passes", name, c.name)
			}
		}
	}
	for _, name := range []string{"Generation", "Watch", "Dated"} {
		delete(unnoticed, name) // See TestSuiteNoticesOptional.
	}
	for name := range unnoticed {
		t.Errorf("no broken store fails %s", name)
	}
}
