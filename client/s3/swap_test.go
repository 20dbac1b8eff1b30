package s3

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/snowgrid/snowgrid/client/store"
)

// first returns a fault of the first request with a method.
func first(method string) func(*http.Request) bool {
	var once sync.Once
	return func(r *http.Request) (hit bool) {
		if r.Method == method {
			once.Do(func() { hit = true })
		}
		return hit
	}
}

func TestSwapIsConditional(t *testing.T) {
	server, cli := startServer(t)
	s := New(cli, "bucket", "")
	made := store.Entry{Key: "k", Body: newBody()}
	r1 := mustSwap(t, s, made)
	if _, err := s.Swap(t.Context(), store.Entry{Key: "k", Body: newBody()}); !errors.Is(err, store.ErrChanged) {
		t.Errorf("a second create: %v", err)
	}
	if _, err := s.Swap(t.Context(), made); !errors.Is(err, store.ErrChanged) {
		t.Errorf("a second create of the same body: %v", err)
	}
	r2 := mustSwap(t, s, store.Entry{Key: "k", Body: newBody(), Revision: r1})
	if r1 == r2 {
		t.Errorf("revision %s twice", r1)
	}
	if _, err := s.Swap(t.Context(), store.Entry{Key: "k", Body: newBody(), Revision: r1}); !errors.Is(err,
		store.ErrChanged) {
		t.Errorf("a stale revision: %v", err)
	}
	if len(server.objects) != 1 {
		t.Errorf("%d objects", len(server.objects))
	}
}

// ZH5: a write was carried out and its answer lost; the SDK sends it again and is refused.
func TestLostAnswerAndRepeatedRequest(t *testing.T) {
	server, cli := startServer(t)
	s := New(cli, "bucket", "")
	revision := store.Revision("")
	for range 3 { // a create, and swaps
		server.after = first(http.MethodPut)
		e := store.Entry{Key: "k", Body: newBody(), Revision: revision}
		server.count(http.MethodPut)
		var err error
		if revision, err = s.Swap(t.Context(), e); err != nil {
			t.Fatalf("carried out, and %v", err)
		}
		if n := server.count(http.MethodPut); n != 2 {
			t.Errorf("%d requests: the SDK did not repeat the lost one", n)
		}
		have, err := s.Load(t.Context(), "k")
		if err != nil || have.Revision != revision || string(have.Body) != string(e.Body) {
			t.Errorf("the store has %+v (%v), and the revision is %s", have, err, revision)
		}
	}
}

// A repeated request that is refused proves nothing if another write is there: the first
// one may have been carried out and replaced.
func TestRepeatedRequestBehindAnotherWrite(t *testing.T) {
	server, cli := startServer(t)
	s := New(cli, "bucket", "")
	r := mustSwap(t, s, store.Entry{Key: "k", Body: newBody()})
	lost := first(http.MethodPut)
	server.after = func(r *http.Request) bool {
		if !lost(r) {
			return false
		}
		server.write("k", newBody(), nil) // replaces the write
		return true
	}
	_, err := s.Swap(t.Context(), store.Entry{Key: "k", Body: newBody(), Revision: r})
	if err == nil || errors.Is(err, store.ErrChanged) {
		t.Errorf("it was written and replaced, and Swap returned %v", err)
	}

	// The same of a create that was removed again.
	server.remove("k")
	lost = first(http.MethodPut)
	server.after = func(r *http.Request) bool {
		hit := lost(r)
		if hit {
			server.before = func(r *http.Request) (int, string) {
				if r.Method == http.MethodPut {
					server.remove("k")
					return http.StatusPreconditionFailed, "PreconditionFailed"
				}
				return 0, ""
			}
		}
		return hit
	}
	_, err = s.Swap(t.Context(), store.Entry{Key: "k", Body: newBody()})
	if err == nil || errors.Is(err, store.ErrChanged) {
		t.Errorf("it was created and removed, and Swap returned %v", err)
	}
}

// The settling read may fail; then nothing is claimed.
func TestUnknownWhenTheObjectCannotBeRead(t *testing.T) {
	server, cli := startServer(t)
	s := New(cli, "bucket", "")
	mustSwap(t, s, store.Entry{Key: "k", Body: newBody()})
	server.before = func(r *http.Request) (int, string) {
		if r.Method == http.MethodGet {
			return http.StatusServiceUnavailable, "SlowDown"
		}
		return 0, ""
	}
	_, err := s.Swap(t.Context(), store.Entry{Key: "k", Body: newBody()})
	if err == nil || errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrNoRecord) {
		t.Error(err)
	}
}

func TestLostAnswerWithoutRepetitionIsUnknown(t *testing.T) {
	server, cli := startServer(t)
	s := New(cli, "bucket", "")
	server.after = func(r *http.Request) bool { return r.Method == http.MethodPut }
	server.before = func(r *http.Request) (int, string) { // never carried out either
		if r.Method == http.MethodPut {
			return http.StatusInternalServerError, "InternalError"
		}
		return 0, ""
	}
	_, err := s.Swap(t.Context(), store.Entry{Key: "k", Body: newBody()})
	if err == nil || errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrNoRecord) {
		t.Error(err)
	}
}

// ZH6: 409 is answered to one of two conditional writes that meet.
func TestConflictIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, cli := startServer(t)
		s := New(cli, "bucket", "")
		left := 3
		server.before = func(r *http.Request) (int, string) {
			if r.Method == http.MethodPut && left > 0 {
				left--
				return http.StatusConflict, "ConditionalRequestConflict"
			}
			return 0, ""
		}
		r := mustSwap(t, s, store.Entry{Key: "k", Body: newBody()})
		left = 1
		other := store.Entry{Key: "k", Body: newBody(), Revision: r}
		mustSwap(t, New(server.client(nothing), "bucket", ""), other) // wins after one conflict
		left = 1
		if _, err := s.Swap(t.Context(), store.Entry{Key: "k", Body: newBody(), Revision: r}); !errors.Is(err,
			store.ErrChanged) {
			t.Errorf("the loser of a conflict: %v", err)
		}

		left = 1 << 30
		server.count(http.MethodPut)
		_, err := s.Swap(t.Context(), store.Entry{Key: "k", Body: newBody(), Revision: r})
		if err == nil || errors.Is(err, store.ErrChanged) {
			t.Errorf("conflicts without end: %v", err)
		}
		if tries := 1<<30 - left; tries != conflictTries {
			t.Errorf("%d requests", tries)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Swap(ctx, store.Entry{Key: "k", Body: newBody(), Revision: r}); !errors.Is(err, context.Canceled) {
			t.Errorf("an ended context: %v", err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), conflictPause/4)
		defer cancel()
		if _, err := s.Swap(ctx, store.Entry{Key: "k", Body: newBody(), Revision: r}); reason(err) != conflict ||
			!errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a context that ends after a conflict: %v", err)
		}
	})
}

// 404 of If-Match: the record was deleted.
func TestDeletedObjectIsToldFromAMissingBucket(t *testing.T) {
	server, cli := startServer(t)
	s := New(cli, "bucket", "")
	r := mustSwap(t, s, store.Entry{Key: "k", Body: newBody()})
	server.remove("k")
	_, err := s.Swap(t.Context(), store.Entry{Key: "k", Body: newBody(), Revision: r})
	if !errors.Is(err, store.ErrChanged) || !errors.Is(err, store.ErrNoRecord) {
		t.Errorf("a deleted object: %v", err)
	}
	// Some servers answer 412 to it.
	server.before = func(r *http.Request) (int, string) {
		if r.Method == http.MethodPut {
			return http.StatusPreconditionFailed, "PreconditionFailed"
		}
		return 0, ""
	}
	_, err = s.Swap(t.Context(), store.Entry{Key: "k", Body: newBody(), Revision: r})
	if !errors.Is(err, store.ErrChanged) || !errors.Is(err, store.ErrNoRecord) {
		t.Errorf("a deleted object of a server that answers 412: %v", err)
	}
	server.before, server.bucket = nil, "another"
	_, err = s.Swap(t.Context(), store.Entry{Key: "k", Body: newBody(), Revision: r})
	if errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrNoRecord) ||
		!strings.Contains(err.Error(), "no such bucket") {
		t.Errorf("a deleted bucket: %v", err)
	}
}

// ZH2: the ETag of this server is the MD5 of the body. Bodies of package store never
// recur, so neither does a revision; only a body written twice would be taken for the
// first one.
func TestRevisionsAreAsDistinctAsBodies(t *testing.T) {
	_, cli := startServer(t)
	s := New(cli, "bucket", "")
	free := newBody()
	stale := mustSwap(t, s, store.Entry{Key: "k", Body: free})
	r := mustSwap(t, s, store.Entry{Key: "k", Body: newBody(), Revision: stale}) // taken
	again := mustSwap(t, s, store.Entry{Key: "k", Body: newBody(), Revision: r}) // returned
	if _, err := s.Swap(t.Context(), store.Entry{Key: "k", Body: newBody(), Revision: stale}); !errors.Is(err,
		store.ErrChanged) {
		t.Errorf("the revision of before: %v", err)
	}
	if same := mustSwap(t, s, store.Entry{Key: "k", Body: free, Revision: again}); same != stale {
		t.Errorf("the test has no ETag of the body: %s, %s", same, stale)
	}
}

func TestRaceHasOneWinner(t *testing.T) {
	_, cli := startServer(t)
	s := New(cli, "bucket", "")
	for range 50 {
		key := string(newBody())
		var wg sync.WaitGroup
		won := make(chan store.Revision, 8)
		for range 8 {
			wg.Go(func() {
				r, err := s.Swap(t.Context(), store.Entry{Key: key, Body: newBody()})
				if err == nil {
					won <- r
				} else if !errors.Is(err, store.ErrChanged) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(won) != 1 {
			t.Fatalf("%d winners", len(won))
		}
	}
}
