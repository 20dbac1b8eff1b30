package record

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/snowgrid/snowgrid/sequencer"
)

// Keys are the keys of one sequencer: <prefix><escaped name>/ and one of sequencer.json,
// <node>.json and node-ids-initialized. The zero value is not usable; make one with
// [KeysOf].
type Keys struct{ folder string }

const (
	documentKey = "sequencer.json"
	markerKey   = "node-ids-initialized"
	recordKey   = ".json" // after the node
)

// Part is the kind of record that a key stands for.
type Part int

// The parts of a sequencer in a store.
const (
	PartOther    Part = iota // not a key of this package
	PartDocument             // the sequencer's document
	PartMarker               // the marker
	PartRecord               // a logical node's record
)

// KeysOf returns the keys of a named sequencer. The prefix is used as it is; the name is
// escaped like a segment of a URL's path, with "." and ".." escaped too.
func KeysOf(prefix, name string) Keys {
	escaped := url.PathEscape(name)
	if strings.Trim(escaped, ".") == "" {
		escaped = strings.ReplaceAll(escaped, ".", "%2E")
	}
	return Keys{folder: prefix + escaped + "/"}
}

// Folder returns the prefix of all keys of the sequencer.
func (k Keys) Folder() string { return k.folder }

// Document returns the key of the sequencer's document.
func (k Keys) Document() string { return k.folder + documentKey }

// Marker returns the key of the marker, which is written last.
func (k Keys) Marker() string { return k.folder + markerKey }

// Record returns the key of a logical node's record.
func (k Keys) Record(node sequencer.NodeID) string {
	return k.folder + strconv.Itoa(int(node)) + recordKey
}

// ParseKey returns the sequencer and the part that a key below prefix stands for, and the
// node if it is a record's. PartOther: it is not a key of a sequencer.
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
