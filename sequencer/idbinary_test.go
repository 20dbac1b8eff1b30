package sequencer_test

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/sequencer"
)

func TestIDBytes(t *testing.T) {
	if got := sequencer.ID(0x0102030405060708).Bytes(); got != [8]byte{1, 2, 3, 4, 5, 6, 7, 8} {
		t.Errorf("Bytes() = %x", got)
	}
	for _, data := range [][]byte{nil, {}, {1}, make([]byte, 7), make([]byte, 9), {0x80, 0, 0, 0, 0, 0, 0, 0}} {
		if id, err := sequencer.FromBytes(data); err == nil || id != 0 {
			t.Errorf("FromBytes(%x) = %d, %v", data, id, err)
		}
	}
}

func TestIDBytesAreInTheOrderOfIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := sequencer.ID(rapid.Int64Min(0).Draw(t, "a"))
		b := sequencer.ID(rapid.Int64Min(0).Draw(t, "b"))
		aBytes, bBytes := a.Bytes(), b.Bytes()
		want := cmp.Compare(int64(a), int64(b))
		if got := bytes.Compare(aBytes[:], bBytes[:]); got != want {
			t.Fatalf("bytes of %d and %d compare as %d", a, b, got)
		}
		if got, err := sequencer.FromBytes(aBytes[:]); err != nil || got != a {
			t.Fatalf("FromBytes of %d = %d, %v", a, got, err)
		}
	})
}

// TestIDIntegers: the shortest forms, as RFC 8949 and the specification of MessagePack have
// them.
func TestIDIntegers(t *testing.T) {
	for id, want := range map[sequencer.ID]struct{ cbor, msgpack string }{
		0:             {"00", "00"},
		23:            {"17", "17"},
		24:            {"1818", "18"},
		127:           {"187f", "7f"},
		128:           {"1880", "cc80"},
		255:           {"18ff", "ccff"},
		256:           {"190100", "cd0100"},
		1<<16 - 1:     {"19ffff", "cdffff"},
		1 << 16:       {"1a00010000", "ce00010000"},
		1<<32 - 1:     {"1affffffff", "ceffffffff"},
		1 << 32:       {"1b0000000100000000", "cf0000000100000000"},
		math.MaxInt64: {"1b7fffffffffffffff", "cf7fffffffffffffff"},
	} {
		cbor, cborErr := id.MarshalCBOR()
		msgpack, msgpackErr := id.MarshalMsgpack()
		if hex.EncodeToString(cbor) != want.cbor || hex.EncodeToString(msgpack) != want.msgpack || cborErr != nil ||
			msgpackErr != nil {
			t.Errorf("%d is CBOR %x, MessagePack %x; %v, %v", id, cbor, msgpack, cborErr, msgpackErr)
		}
		fromCBOR, fromMsgpack := untouched, untouched
		if err := fromCBOR.UnmarshalCBOR(cbor); err != nil || fromCBOR != id {
			t.Errorf("CBOR %x is read as %d, %v", cbor, fromCBOR, err)
		}
		if err := fromMsgpack.UnmarshalMsgpack(msgpack); err != nil || fromMsgpack != id {
			t.Errorf("MessagePack %x is read as %d, %v", msgpack, fromMsgpack, err)
		}
	}
	for text, want := range map[string]sequencer.ID{"d005": 5, "d10005": 5, "d200000005": 5, "d30000000000000005": 5,
		"cf0000000000000005": 5} {
		data, _ := hex.DecodeString(text)
		if id := untouched; id.UnmarshalMsgpack(data) != nil || id != want {
			t.Errorf("MessagePack %x is read as %d", data, id)
		}
	}
}

func TestIDIntegersRefuse(t *testing.T) {
	for _, text := range []string{"", "18", "1801ff", "20", "40", "6131", "f6", "f7", "1b8000000000000000", "1c",
		"3b0000000000000001"} {
		data, _ := hex.DecodeString(text)
		if id := untouched; id.UnmarshalCBOR(data) == nil || id != untouched {
			t.Errorf("CBOR %x is read as %d", data, id)
		}
	}
	for _, text := range []string{"", "ff", "c0", "a131", "cc", "cc0101", "cf8000000000000000", "d0ff", "d1ffff",
		"d2ffffffff", "d3ffffffffffffffff", "ca00000000"} {
		data, _ := hex.DecodeString(text)
		if id := untouched; id.UnmarshalMsgpack(data) == nil || id != untouched {
			t.Errorf("MessagePack %x is read as %d", data, id)
		}
	}
}
