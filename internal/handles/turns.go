package handles

import (
	"context"
	"sync"
)

// Turns bounds the concurrent callers for each key; more wait. The zero value is ready.
type Turns[K comparable] struct {
	mu sync.Mutex // never held while waiting
	of map[K]*turn
}

// turn is one key's, while a caller has it or waits for it.
type turn struct {
	places chan struct{} // has an element for each caller that has a place
	users  int
}

// Take waits for one of width places. The caller must call give at its end. If one is free, ctx is ignored; else the
// error is ctx's.
func (t *Turns[K]) Take(ctx context.Context, key K, width int) (give func(), err error) {
	t.mu.Lock()
	mine := t.of[key]
	if mine == nil {
		if t.of == nil {
			t.of = map[K]*turn{}
		}
		mine = &turn{places: make(chan struct{}, width)}
		t.of[key] = mine
	}
	mine.users++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if mine.users--; mine.users == 0 {
			delete(t.of, key)
		}
	}
	give = func() { <-mine.places; leave() }
	select {
	case mine.places <- struct{}{}: // also if ctx has ended
		return give, nil
	default:
	}
	select {
	case mine.places <- struct{}{}:
		return give, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// Len returns the number of keys that have callers.
func (t *Turns[K]) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.of)
}
