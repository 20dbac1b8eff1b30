package grid

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestRosterIsPushedInPages: a roster that is larger than a request arrives as it is, in pages in
// order; any other order is refused, and the roster is pushed again.
func TestRosterIsPushedInPages(t *testing.T) {
	whole := wire.PushRequest{Leader: "l", Term: 3, At: 7, Roster: bytes.Repeat([]byte("0123456789"), wire.MaxBody/4)}
	pages := pagesOf(whole)
	if len(pages) != 5 {
		t.Fatalf("%d pages", len(pages))
	}
	for _, page := range pages {
		if data, err := wire.Encode(wire.MsgPack, page); err != nil || len(data) > wire.MaxBody {
			t.Fatalf("a page has %d bytes, %v", len(data), err)
		}
	}
	var p pushPages
	send := func(at int, want bool) wire.PushRequest {
		t.Helper()
		out, complete, err := p.add(pages[at])
		if complete != want || err != nil {
			t.Fatalf("page %d: complete %t, %v", at, complete, err)
		}
		return out
	}
	refuse := func(page wire.PushRequest) {
		t.Helper()
		if _, complete, err := p.add(page); complete || !errors.Is(err, wire.ErrBadRequest) {
			t.Errorf("page %d: %v", page.Offset, err)
		}
	}
	send(0, false)
	send(1, false)
	refuse(pages[3])
	send(0, false) // again, from the beginning
	for at := 1; at < 4; at++ {
		send(at, false)
	}
	later := pages[4]
	later.At++
	refuse(later)
	if out := send(4, true); !bytes.Equal(out.Roster, whole.Roster) || out.At != whole.At || out.Size != 0 {
		t.Errorf("%d bytes arrive of %d", len(out.Roster), len(whole.Roster))
	}
	refuse(pages[4])
	for _, hostile := range []wire.PushRequest{
		{Size: -1, Roster: []byte("x")}, {Size: math.MaxInt, Roster: []byte("x")}, {Size: 5, Offset: -1, Roster: []byte("x")},
		{Size: 5, Offset: 5, Roster: []byte("x")}, {Size: 5}, {Size: 1, Roster: []byte("xy")},
	} {
		refuse(hostile)
	}
	if one, complete, err := p.add(wire.PushRequest{At: 1}); !complete || err != nil || one.At != 1 {
		t.Errorf("a push in one page: %v, %v", one, err)
	}
	if got := pagesOf(wire.PushRequest{Roster: make([]byte, wire.PushPage)}); len(got) != 1 || got[0].Size != 0 {
		t.Errorf("a small roster has %d pages", len(got))
	}
}
