package transport

import (
	"bufio"
	"bytes"
	"runtime/debug"
	"strings"
	"testing"
)

// TestNestedGossipIsRefused: decoders recurse into the fields that they do not know. A
// message of 640 KB took 70 MB of stack, so a few concurrent ones ended a member.
func TestNestedGossipIsRefused(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(1 << 20)) // the process ends where a decoder recurses
	const deep = 600_000
	for what, nested := range map[string]string{
		"lists": strings.Repeat("\x91", deep) + "\xc0", "maps": strings.Repeat("\x81\xc0", deep) + "\xc0",
		"long lists": strings.Repeat("\xdc\x00\x01", deep) + "\xc0", "longer lists": strings.Repeat("\xdd\x00\x00\x00\x01",
			deep) + "\xc0",
		"long maps":   strings.Repeat("\xde\x00\x01\xc0", deep) + "\xc0",
		"longer maps": strings.Repeat("\xdf\x00\x00\x00\x01\xc0", deep) + "\xc0",
		"one list":    "\x91\xc0", "one map": "\x81\xc0\xc0",
	} {
		field := "\x81\xa1x" + nested
		for kind := byte(0); kind <= gossipError; kind++ {
			message := append([]byte{kind}, field...)
			if _, err := checkPacket(message); err == nil && kind != gossipEncrypted && kind != gossipChecked {
				t.Errorf("%s in a datagram of kind %d are accepted", what, kind)
			}
			if err := checkOpening(kind, bufio.NewReader(strings.NewReader(field))); err == nil && kind != gossipEncrypted {
				t.Errorf("%s in a stream of kind %d are accepted", what, kind)
			}
		}
		if _, err := readOpening(bytes.NewReader(append(opening("", states{Nodes: 1}), field...))); err == nil {
			t.Errorf("%s in the state of a node are accepted", what)
		}
		for name, top := range map[string]string{"a list of fields": "\x91" + nested, "the name of a field": "\x81" +
			nested + "\xc0"} {
			if _, err := checkPacket([]byte("\x00" + top)); err == nil {
				t.Errorf("%s as %s are accepted", what, name)
			}
		}
	}
}
