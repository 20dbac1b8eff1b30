//go:build unix

package upgrade

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// load are holders of both releases.
type load struct {
	t       *testing.T
	holders []*process
	dirs    []string
	names   []string
}

// startLoad starts holders, in turn of each release, and waits until each has IDs. The last one is a process in
// another language, with grants over HTTP.
func startLoad(t *testing.T, c *cluster, count, batch int, of ...release) *load {
	t.Helper()
	l := &load{t: t, names: []string{"orders", "events"}}
	for i := range count {
		dir, r := t.TempDir(), of[i%len(of)]
		args := []string{"-addrs", c.apis(), "-names", strings.Join(l.names, ","), "-dir", dir, "-batch", fmt.Sprint(batch)}
		if i < len(of) {
			args = append(args, "-visit", fmt.Sprintf("visit%d", i))
		}
		if i == count-1 {
			args = append(args, "-grants")
		}
		l.dirs = append(l.dirs, dir)
		l.holders = append(l.holders, start(t, fmt.Sprintf("holder %d (%s)", i+1, r.name), filepath.Join(dir, "log"),
			r.holder, args...))
	}
	for _, h := range l.holders {
		h.awaitFirst(t)
	}
	return l
}

// running fails the test if a holder has ended: one call of it has failed.
func (l *load) running(when string) {
	l.t.Helper()
	for _, h := range l.holders {
		if h.hasEnded() {
			l.t.Fatalf("%s: %s has ended: %v", when, h.name, h.said())
		}
	}
}

// end ends the holders, and checks every ID.
func (l *load) end() {
	l.t.Helper()
	for _, h := range l.holders {
		if code := h.end(l.t, nil); code != 0 {
			l.t.Errorf("%s ended with status %d", h.name, code)
		}
		said := h.said()
		l.t.Logf("%s: %s", h.name, said[len(said)-1])
	}
	total := 0
	for _, name := range l.names {
		var all []uint64
		for i, dir := range l.dirs {
			ids := l.read(filepath.Join(dir, name+".ids"))
			if len(ids) == 0 {
				l.t.Errorf("%s has no ID of %s", l.holders[i].name, name)
			}
			for n := 1; n < len(ids); n++ {
				if ids[n] <= ids[n-1] {
					l.t.Fatalf("%s, %s: ID %d follows %d", l.holders[i].name, name, ids[n], ids[n-1])
				}
			}
			all = append(all, ids...)
		}
		slices.Sort(all)
		for n := 1; n < len(all); n++ {
			if all[n] == all[n-1] {
				l.t.Fatalf("%s: ID %d was issued twice", name, all[n])
			}
		}
		total += len(all)
	}
	l.t.Logf("%d IDs of %d handles: no two equal, each handle's ascend", total, len(l.dirs)*len(l.names))
}

// read returns the IDs in a file.
func (l *load) read(file string) []uint64 {
	l.t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		l.t.Fatal(err)
	}
	ids := make([]uint64, len(data)/8)
	for i := range ids {
		ids[i] = binary.BigEndian.Uint64(data[8*i:])
	}
	return ids
}
