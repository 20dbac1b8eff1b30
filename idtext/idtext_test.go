package idtext_test

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/idtext"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/sequencer"
)

// published is an ID of 2019 with its Base32 in other software.
const published = sequencer.ID(1116766490855473152)

func TestTexts(t *testing.T) {
	for _, c := range []struct {
		id             sequencer.ID
		base32, base62 string
	}{
		{0, "0000000000000", "00000000000"},
		{1, "0000000000001", "00000000001"},
		{61, "000000000001x", "0000000000z"},
		{published, "0yzwd6kg80000", "1KUnkKheqTw"},
		{math.MaxInt64, "7zzzzzzzzzzzz", "AzL8n0Y58m7"},
	} {
		if got := idtext.Base32(c.id); got != c.base32 {
			t.Errorf("%d in Base32 is %s, want %s", c.id, got, c.base32)
		}
		if got := idtext.Base62(c.id); got != c.base62 {
			t.Errorf("%d in Base62 is %s, want %s", c.id, got, c.base62)
		}
		if got, err := idtext.ParseBase32(c.base32); got != c.id || err != nil {
			t.Errorf("%s is %d, %v", c.base32, got, err)
		}
		if got, err := idtext.ParseBase62(c.base62); got != c.id || err != nil {
			t.Errorf("%s is %d, %v", c.base62, got, err)
		}
	}
}

// randomIDs returns IDs of every size.
func randomIDs(n int) []sequencer.ID {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // repeatable
	ids := make([]sequencer.ID, n)
	for i := range ids {
		ids[i] = sequencer.ID(random.Uint64() >> (1 + random.IntN(63)))
	}
	return ids
}

// TestOrder: the texts of sorted IDs are sorted, as are the bytes, and each text is of its ID.
func TestOrder(t *testing.T) {
	ids := randomIDs(long.Or(200_000, 10_000_000))
	slices.Sort(ids)
	ids = slices.Compact(ids)
	var last32, last62 string
	var lastBytes [8]byte
	for i, id := range ids {
		in32, in62, inBytes := idtext.Base32(id), idtext.Base62(id), id.Bytes()
		if i > 0 && (in32 <= last32 || in62 <= last62 || bytes.Compare(inBytes[:], lastBytes[:]) <= 0) {
			t.Fatalf("%d and %d: %s, %s; %s, %s", ids[i-1], id, last32, in32, last62, in62)
		}
		last32, last62, lastBytes = in32, in62, inBytes
		if got, err := idtext.ParseBase32(in32); got != id || err != nil {
			t.Fatalf("%s of %d is %d, %v", in32, id, got, err)
		}
		if got, err := idtext.ParseBase62(in62); got != id || err != nil {
			t.Fatalf("%s of %d is %d, %v", in62, id, got, err)
		}
	}
}

// TestBase62AgreesWithBig: math/big writes the same number with lower case before upper case.
func TestBase62AgreesWithBig(t *testing.T) {
	swapped := func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r - 'a' + 'A'
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		}
		return r
	}
	for _, id := range randomIDs(1000) {
		want := strings.Map(swapped, big.NewInt(int64(id)).Text(62))
		if got := strings.TrimLeft(idtext.Base62(id), "0"); got != strings.TrimLeft(want, "0") {
			t.Errorf("%d is %s, want %s", id, got, want)
		}
	}
}

func TestRefused(t *testing.T) {
	refused := func(read func(string) (sequencer.ID, error), texts ...string) {
		t.Helper()
		for _, text := range texts {
			id, err := read(text)
			if id != 0 || !errors.Is(err, sequencer.ErrInvalidID) {
				t.Errorf("%q is read as %d, %v", text, id, err)
			}
			if err != nil && len(err.Error()) > 400 {
				t.Errorf("a message of %d bytes", len(err.Error()))
			}
		}
	}
	huge := strings.Repeat("0", 1<<20)
	refused(idtext.ParseBase32, "", "0", "000000000000", "00000000000000", "8000000000000", "zzzzzzzzzzzzz",
		"0YZWD6KG80000",
		"0yzwd6kg8000o", "0yzwd6kg8000i", "0yzwd6kg8000l", "0yzwd6kg8000u", "0yzwd6kg-0000", " yzwd6kg80000",
		"0yzwd6kg8000é", huge)
	refused(idtext.ParseBase32Lenient, "", "-", "0yzwd6kg8000u", "0yzwd6kg8000", "8000000000000", "0yzwd6kg80000 1",
		"0yzwd6kg8000\u212a", huge, strings.Repeat("-", 100))
	refused(idtext.ParseBase62, "", "0", "0000000000", "000000000000", "AzL8n0Y58m8", "zzzzzzzzzzz", "0000000000-",
		"0000000000é", huge)
}

func TestLenient(t *testing.T) {
	for _, text := range []string{"0yzwd6kg80000", "0YZWD6KG80000", "OyZwD6kG8oOo0", " 0yzw-d6kg-80000\n",
		"-0-y-z-wd6kg80000-"} {
		if id, err := idtext.ParseBase32Lenient(text); id != published || err != nil {
			t.Errorf("%q is %d, %v", text, id, err)
		}
	}
	for _, text := range []string{"000000000000i", "000000000000I", "ooooooooooool", "OOOOOOOOOOOOL"} {
		if id, err := idtext.ParseBase32Lenient(text); id != 1 || err != nil {
			t.Errorf("%q is %d, %v, want 1", text, id, err)
		}
	}
}

// FuzzTexts: a text that a strict parser reads is the text of that ID, and the lenient one reads the same.
func FuzzTexts(f *testing.F) {
	for _, text := range []string{"", "0yzwd6kg80000", "7zzzzzzzzzzzz", "AzL8n0Y58m7", "order_0yzwd6kg80000"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if id, err := idtext.ParseBase32(text); err == nil {
			lenient, err := idtext.ParseBase32Lenient(text)
			if id < 0 || idtext.Base32(id) != text || lenient != id || err != nil {
				t.Errorf("%q is %d, lenient %d, %v", text, id, lenient, err)
			}
		}
		if id, err := idtext.ParseBase62(text); err == nil && (id < 0 || idtext.Base62(id) != text) {
			t.Errorf("%q is %d", text, id)
		}
		if id, err := idtext.ParseTyped[order](text); err == nil && (id < 0 || id.String() != text) {
			t.Errorf("%q is %d", text, id)
		}
	})
}
