package record

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/snowgrid/snowgrid/sequencer"
)

// Keys are one sequencer's keys: <prefix><escaped name>/ and one of sequencer.json, <node>.json and
// node-ids-initialized. The zero value is not usable; use [KeysOf].
type Keys struct{ folder string }

const (
	documentKey = "sequencer.json"
	markerKey   = "node-ids-initialized"
	recordKey   = ".json" // after the node
)

// Part is the kind of record under a key.
type Part int

// The parts of a sequencer in a store.
const (
	PartOther    Part = iota // not a key of this package
	PartDocument             // the sequencer's document
	PartMarker               // the marker
	PartRecord               // a logical node's record
)

// KeysOf returns the keys for a named sequencer. The prefix is used unchanged; the name is escaped
// like a URL path segment, with "." and ".." escaped too.
func KeysOf(prefix, name string) Keys {
	escaped := url.PathEscape(name)
	if strings.Trim(escaped, ".") == "" {
		escaped = strings.ReplaceAll(escaped, ".", "%2E")
	}
	return Keys{folder: prefix + escaped + "/"}
}

// Folder returns the prefix common to all the sequencer's keys.
func (k Keys) Folder() string { return k.folder }

// Document returns the key for the sequencer's document.
func (k Keys) Document() string { return k.folder + documentKey }

// Marker returns the key for the marker, which is written last.
func (k Keys) Marker() string { return k.folder + markerKey }

// Record returns the key for a logical node's record.
func (k Keys) Record(node sequencer.NodeID) string {
	return k.folder + strconv.Itoa(int(node)) + recordKey
}

// ParseKey returns the sequencer and the part that a key below prefix identifies, and for a record
// its node. It returns PartOther if the key does not belong to a sequencer.
func ParseKey(prefix, key string) (name string, part Part, node sequencer.NodeID) {
	rest, below := strings.CutPrefix(key, prefix)
	folder, last, _ := strings.Cut(rest, "/")
	name, err := url.PathUnescape(folder)
	if !below || err != nil || name == "" || KeysOf(prefix, name).folder+last != key {
		return "", PartOther, 0
	}
	switch last {
	case documentKey:
		return name, PartDocument, 0
	case markerKey:
		return name, PartMarker, 0
	}
	digits, is := strings.CutSuffix(last, recordKey)
	n, err := strconv.ParseUint(digits, 10, 16)
	if !is || err != nil || strconv.FormatUint(n, 10) != digits {
		return "", PartOther, 0
	}
	return name, PartRecord, sequencer.NodeID(n)
}
