package grid_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// testdata/protocol1.tar.gz is the data directory of a member of the release before, built
// as for proof/upgrade, as a kill left it: a grid of one member with a window of 1 s, with
// two snapshots and the entries after them. It has issued these IDs, and destroyed the name "gone".
var issuedByProtocol1 = map[string]sequencer.ID{"orders": 236183341232029696, "events": 236183341232029696}

// later is a clock that was at an instant when the test began.
type later struct {
	at    time.Time
	began time.Time
}

func (c later) Now() time.Time { return c.at.Add(time.Since(c.began)) }

// TestFilesOfTheReleaseBefore: a member continues on its identity, log, snapshots and
// definitions. While nothing new is in use, it writes nothing that the release before
// does not read.
func TestFilesOfTheReleaseBefore(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	cfg := alone(t)
	unpack(t, "testdata/protocol1.tar.gz", cfg.DataDir)
	cfg.Clock = later{time.Date(2026, 11, 22, 21, 30, 0, 0, time.UTC), time.Now()}
	identity := read(t, cfg.DataDir, ".member.meta")
	for range 2 { // by the files of the release before, and then by its own
		m, err := grid.Start(testContext(t), cfg)
		if err != nil {
			t.Fatal(err)
		}
		s := m.Status()
		if s.Name != "kept" || s.Settings.Partitions != 7 || s.Settings.Window != 1000 || s.Protocol != roster.Protocol1 {
			t.Errorf("grid %q, settings %+v, protocol %d", s.Name, s.Settings, s.Protocol)
		}
		for name, last := range issuedByProtocol1 {
			handle, err := m.OpenSequencer(testContext(t), name)
			if err == nil {
				err = handle.AttachLogicalNode(testContext(t))
			}
			if err != nil {
				t.Fatal(err)
			}
			if id, err := handle.Next(testContext(t)); err != nil || id <= last {
				t.Errorf("%s: ID %d, %v; the release before has issued %d", name, id, err, last)
			}
		}
		if _, err := m.OpenSequencer(testContext(t), "gone"); !errors.Is(err, sequencer.ErrNotFound) {
			t.Errorf("a name that was destroyed: %v", err)
		}
		if _, err := m.CreateSequencer(testContext(t), "more", sequencer.Config{}); err != nil {
			t.Fatal(err)
		}
		if err := m.Raft().Snapshot().Error(); err != nil {
			t.Fatal(err)
		}
		if n := laterEntries(t, m, byte(roster.Protocol1)); n > 0 {
			t.Errorf("%d entries of the log are of a later format", n)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		snapshots, err := filepath.Glob(filepath.Join(cfg.DataDir, "snapshots", "*", "snapshots", "*", "state.bin"))
		if err != nil || len(snapshots) != 2 {
			t.Fatalf("snapshots %v, %v", snapshots, err)
		}
		for _, file := range snapshots {
			if data := read(t, file); data[0] != byte(roster.Protocol1) || bytes.Contains(data, []byte("protocol")) {
				t.Errorf("%s has format %d", file, data[0])
			}
		}
	}
	if now := read(t, cfg.DataDir, ".member.meta"); !bytes.Equal(now, identity) {
		t.Errorf("the identity was\n%s\nand is\n%s", identity, now)
	}
}

// read returns the content of a file.
func read(t *testing.T, path ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// unpack writes the files of an archive to a directory.
func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	packed, err := gzip.NewReader(bytes.NewReader(read(t, archive)))
	if err != nil {
		t.Fatal(err)
	}
	files := tar.NewReader(packed)
	for {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.Clean("/"+head.Name))
		if head.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(path, 0o700); err != nil {
				t.Fatal(err)
			}
			continue
		}
		data, err := io.ReadAll(files)
		if err == nil {
			err = os.WriteFile(path, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
