package storetest_test

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/client/store/storetest"
	"github.com/snowgrid/snowgrid/internal/long"
)

func TestMemory(t *testing.T) {
	long.NotShort(t, "TestFile makes the same checks")
	t.Parallel()
	m := store.NewMemory()
	storetest.Run(t, func() store.Store { return m })
}

// spread uses several handles on one directory in turn, as processes do.
type spread struct {
	dir   string
	files []*store.File
	calls atomic.Uint64
}

func (s *spread) next() *store.File { return s.files[s.calls.Add(1)%uint64(len(s.files))] }

func (s *spread) Load(ctx context.Context, key string) (store.Entry, error) {
	return s.next().Load(ctx, key)
}

func (s *spread) Swap(ctx context.Context, e store.Entry) (store.Revision, error) {
	return s.next().Swap(ctx, e)
}

func (s *spread) List(ctx context.Context, prefix string) ([]store.Entry, error) {
	return s.next().List(ctx, prefix)
}

func (s *spread) Delete(_ context.Context, key string) error {
	return os.Remove(filepath.Join(s.dir, key))
}

func TestFile(t *testing.T) {
	long.NotShort(t, "it waits for holders for eight seconds")
	t.Parallel()
	s := &spread{dir: t.TempDir()}
	for range 5 {
		f, err := store.OpenFile(s.dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		s.files = append(s.files, f)
	}
	storetest.Run(t, func() store.Store { return s })
}
