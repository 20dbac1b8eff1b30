package frames

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/snowgrid/snowgrid/internal/wire/frame"
)

// TestReaderGrows: a connection gets a larger buffer once several frames come together, not
// for one large frame; nothing is lost or comes twice either way.
func TestReaderGrows(t *testing.T) {
	frameOf := func(n int) []byte {
		h := frame.Header{Kind: frame.Data, Number: 1, Length: uint32(n)}
		return append(frame.AppendHeader(nil, h), bytes.Repeat([]byte{byte(n)}, n)...)
	}
	for name, c := range map[string]struct {
		sizes []int
		in    func(io.Reader) io.Reader
		want  int
	}{
		"one by one":    {[]int{60, 70, 80}, iotest.OneByteReader, calmBuffer},
		"a large frame": {[]int{8000, 60}, func(r io.Reader) io.Reader { return r }, calmBuffer},
		"a burst": {[]int{60, 70, 80, 90, 100, 110, 120, 130, 140, 8000, 60}, func(r io.Reader) io.Reader { return r },
			burstBuffer},
	} {
		var all []byte
		for _, n := range c.sizes {
			all = append(all, frameOf(n)...)
		}
		l := &link{in: newReader(c.in(bytes.NewReader(all)))}
		for _, n := range c.sizes {
			h, payload, err := l.next()
			if err != nil || h.Kind != frame.Data || !bytes.Equal(payload, bytes.Repeat([]byte{byte(n)}, n)) {
				t.Fatalf("%s: %+v, %d bytes, %v; want %d", name, h, len(payload), err, n)
			}
		}
		if _, _, err := l.next(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v after the last frame", name, err)
		}
		if got := l.in.Size(); got != c.want {
			t.Errorf("%s: a buffer of %d bytes, want %d", name, got, c.want)
		}
	}
}
