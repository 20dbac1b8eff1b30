package mixed

import "testing"

// TestLocate: the nodes of the sequencer named default have the keys of the workers, and no other
// sequencer has them.
func TestLocate(t *testing.T) {
	l := layout("/i3d/")
	for key, want := range map[string]place{
		"default/0.json": {"/i3d/snowgrid/default/0.json", "/i3d/workers/last_reported_time/0", "/i3d/workers/live/0"},
		"default/1023.json": {"/i3d/snowgrid/default/1023.json", "/i3d/workers/last_reported_time/1023",
			"/i3d/workers/live/1023"},
		"default/sequencer.json": {}, "default/node-ids-initialized": {}, "orders/31.json": {}, "team/default/1.json": {},
		"default/default/1.json": {}, "default/07.json": {}, "default/-1.json": {}, "default/+1.json": {},
		"default/.json": {}, "default/1": {}, "default1.json": {}, "1.json": {}, "/1.json": {}, "probe": {}, "": {},
		"default/99999999999.json": {},
	} {
		got, shared := l.locate(key)
		if got != want || shared != (want != place{}) {
			t.Errorf("%q is at %+v, %v, want %+v", key, got, shared, want)
		}
	}
}

// FuzzLocate: a node's key follows from its live key, and its keys belong to no other key.
func FuzzLocate(f *testing.F) {
	for _, k := range []string{"default/0.json", "orders/sequencer.json", "a/workers/live/5", "workers/live/5.json",
		"default/default/1.json", "/"} {
		f.Add(k)
	}
	l := layout("/i3d/")
	f.Fuzz(func(t *testing.T, key string) {
		p, shared := l.locate(key)
		if shared && l.keyOf(p.live) != key {
			t.Fatalf("%q has the live key %q, which belongs to %q", key, p.live, l.keyOf(p.live))
		}
		if back := l.keyOf(key); back != "" {
			if of, is := l.locate(back); !is || of.live != key {
				t.Fatalf("%q belongs to %q, whose live key is %q", key, back, of.live)
			}
		}
		if plain := l.plain() + key; plain == p.reported || plain == p.live || l.keyOf(plain) != "" {
			t.Fatalf("%q is a key of a worker", key)
		}
	})
}
