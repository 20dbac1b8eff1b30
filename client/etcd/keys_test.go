package etcd

import (
	"strings"
	"testing"
)

// TestKeysOfTheOriginal: the sequencer named default has the layout of the original
// workers, and another its own directory with the same layout.
func TestKeysOfTheOriginal(t *testing.T) {
	l := layout("/i3d/")
	for _, c := range []struct {
		key  string
		want place
	}{
		{"default/0.json", place{"/i3d/workers/granted/0", "/i3d/workers/live/0", "/i3d/workers/last_reported_time/0"}},
		{"default/sequencer.json", place{path: "/i3d/sequencer.json"}},
		{"default/node-ids-initialized", place{path: "/i3d/node-ids-initialized"}},
		{"orders/31.json", place{
			"/i3d/sequencers/orders/workers/granted/31", "/i3d/sequencers/orders/workers/live/31",
			"/i3d/sequencers/orders/workers/last_reported_time/31",
		}},
		{"a%2Fb/sequencer.json", place{path: "/i3d/sequencers/a%2Fb/sequencer.json"}},
		{"team/orders/1.json", place{
			"/i3d/sequencers/team/orders/workers/granted/1", "/i3d/sequencers/team/orders/workers/live/1",
			"/i3d/sequencers/team/orders/workers/last_reported_time/1",
		}},
		{"probe", place{path: "/i3d/keys/probe"}},
		{"orders/07.json", place{path: "/i3d/keys/orders/07.json"}},
		{"orders/-1.json", place{path: "/i3d/keys/orders/-1.json"}},
		{"/1.json", place{path: "/i3d/keys//1.json"}},
	} {
		if got := l.locate(c.key); got != c.want {
			t.Errorf("%s is at %+v, want %+v", c.key, got, c.want)
		}
	}
}

// keyPieces make keys that are like those of the engine, of etcd and of neither.
var keyPieces = []string{
	"default", "orders", "a%2Fb", "/", "0.json", "12.json", "012.json", "12", ".json", "sequencer.json",
	"node-ids-initialized", "workers/", "granted/", "live/", "last_reported_time/", "sequencers/", "keys/", "",
}

// FuzzKeys: every key has a place of its own, from which the key follows again, inside
// the ranges of each of the key's prefixes.
func FuzzKeys(f *testing.F) {
	for _, k := range []string{"default/0.json", "orders/sequencer.json", "a/workers/granted/5", "a/5.json",
		"default/default/1.json", "keys/x", "/"} {
		f.Add(k)
	}
	l := layout("/i3d/")
	f.Fuzz(func(t *testing.T, key string) {
		p := l.locate(key)
		for _, path := range []string{p.path, p.live, p.reported} {
			if path == "" {
				continue
			}
			if back, ok := l.keyOf(path); !ok || back != key {
				t.Fatalf("%q is at %q, which belongs to %q, %v", key, path, back, ok)
			}
			for end := range len(key) + 1 {
				if !inRanges(l.ranges(key[:end]), path) {
					t.Fatalf("%q of %q is not in the ranges of %q: %q", path, key, key[:end], l.ranges(key[:end]))
				}
			}
		}
	})
}

// TestKeysDiffer: no two of very many keys share a key of etcd.
func TestKeysDiffer(t *testing.T) {
	l, taken := layout("/"), map[string]string{}
	var walk func(key string, depth int)
	walk = func(key string, depth int) {
		p := l.locate(key)
		for _, path := range []string{p.path, p.live, p.reported} {
			if other, ok := taken[path]; ok && path != "" && other != key {
				t.Fatalf("%q and %q are both at %q", key, other, path)
			}
			taken[path] = key
		}
		if depth == 0 {
			return
		}
		for _, piece := range keyPieces {
			walk(key+piece, depth-1)
		}
	}
	walk("", 4)
}

func inRanges(ranges []string, path string) bool {
	for _, r := range ranges {
		if strings.HasPrefix(path, r) {
			return true
		}
	}
	return false
}
