package etcd

import (
	"strconv"
	"strings"
)

// The parts of the layout below the prefix. The original workers use the first four, for the
// sequencer named [defaultName].
const (
	workersDir  = "workers/"
	liveDir     = workersDir + "live/"
	reportedDir = workersDir + "last_reported_time/"
	grantedDir  = workersDir + "granted/"

	sequencersDir = "sequencers/" // one directory for each other sequencer
	othersDir     = "keys/"       // keys outside any sequencer
	changesKey    = "changes"     // the last key that changed, for watches

	// defaultName is the sequencer with its keys directly below the prefix.
	defaultName = "default"
)

// files are a sequencer's keys besides its records.
var files = []string{"sequencer.json", "node-ids-initialized"}

// layout maps the engine's keys to etcd keys. It is their common prefix.
type layout string

// place locates one of the engine's keys.
type place struct {
	path string // the body's key
	// live and reported are the keys beside a record: "" for another key.
	live, reported string
}

// isRecord reports whether the key has a logical node's record.
func (p place) isRecord() bool { return p.live != "" }

// locate returns a key's place. Different keys have different places.
func (l layout) locate(key string) place {
	if at := strings.LastIndexByte(key, '/'); at > 0 {
		base, file := l.base(key[:at]), key[at+1:]
		if node, ok := nodeOf(file); ok {
			return place{path: base + grantedDir + node, live: base + liveDir + node, reported: base + reportedDir + node}
		}
		for _, f := range files {
			if file == f {
				return place{path: base + f}
			}
		}
	}
	return place{path: string(l) + othersDir + key}
}

// changes returns the key that names the last key that changed.
func (l layout) changes() string { return string(l) + changesKey }

// base returns a sequencer's directory.
func (l layout) base(name string) string {
	if name == defaultName {
		return string(l)
	}
	return string(l) + sequencersDir + name + "/"
}

// nodeOf returns the node number for a record's file name, such as 7 for 7.json.
func nodeOf(file string) (node string, ok bool) {
	node, ok = strings.CutSuffix(file, ".json")
	n, err := strconv.ParseUint(node, 10, 32)
	return node, ok && err == nil && strconv.FormatUint(n, 10) == node
}

// keyOf returns the engine's key to which an etcd key belongs, and false if there is none.
func (l layout) keyOf(path string) (key string, ok bool) {
	rest, ok := strings.CutPrefix(path, string(l))
	if !ok {
		return "", false
	}
	if other, found := strings.CutPrefix(rest, othersDir); found {
		return other, l.locate(other).path == path
	}
	name := defaultName + "/"
	if named, found := strings.CutPrefix(rest, sequencersDir); found {
		name, rest = "", named
	}
	at := strings.LastIndexByte(rest, '/') + 1
	dir, file := rest[:at], rest[at:]
	for _, sub := range []string{grantedDir, liveDir, reportedDir} {
		if parent, found := strings.CutSuffix(dir, sub); found {
			dir, file = parent, file+".json"
			break
		}
	}
	key = name + dir + file
	p := l.locate(key)
	return key, path == p.path || (p.isRecord() && (path == p.live || path == p.reported))
}

// ranges returns etcd key prefixes which together cover every key that belongs to an engine key
// with a prefix. They may cover some others.
func (l layout) ranges(prefix string) []string {
	dirs := prefix[:strings.LastIndexByte(prefix, '/')+1]
	if dirs == "" {
		dirs = prefix
	}
	out := []string{string(l) + othersDir + prefix, string(l) + sequencersDir + dirs}
	const bare = defaultName + "/"
	if strings.HasPrefix(prefix, bare) || strings.HasPrefix(bare, prefix) {
		out = append(out, string(l)+workersDir)
		for _, f := range files {
			out = append(out, string(l)+f)
		}
	}
	return out
}
