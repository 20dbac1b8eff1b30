package wire

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/snowgrid/snowgrid/internal/attachment"
)

// TestCutEvent: events are taken from a stream that is cut anywhere, and one that is too long or
// cannot be decoded is an error.
func TestCutEvent(t *testing.T) {
	events := []Event{{}, {Name: "orders", Life: attachment.Life{1}}, {Name: "bills", Life: attachment.Life{2}}}
	var stream bytes.Buffer
	for _, e := range events {
		if err := WriteEvent(&stream, e); err != nil {
			t.Fatal(err)
		}
	}
	for cut := range stream.Len() {
		var got []Event
		var rest []byte
		for _, part := range [][]byte{stream.Bytes()[:cut], stream.Bytes()[cut:]} {
			for rest = append(rest, part...); ; {
				e, left, whole, err := CutEvent(rest)
				if err != nil {
					t.Fatal(cut, err)
				}
				if rest = left; !whole {
					break
				}
				got = append(got, e)
			}
		}
		if len(rest) > 0 || len(got) != len(events) || got[0] != events[0] || got[1] != events[1] || got[2] != events[2] {
			t.Errorf("cut at %d: %v, and %d bytes more", cut, got, len(rest))
		}
	}
	for what, bad := range map[string][]byte{
		"too long":   binary.BigEndian.AppendUint32(nil, maxEvent+1),
		"unreadable": append(binary.BigEndian.AppendUint32(nil, 1), 0xc1),
	} {
		if e, _, whole, err := CutEvent(bad); err == nil || whole {
			t.Errorf("%s: %v", what, e)
		}
	}
}
