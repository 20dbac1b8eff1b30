package logring

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestRingKeepsTheLastLines(t *testing.T) {
	r := New(100)
	for i := range 1000 {
		if n, err := fmt.Fprintf(r, "line %04d\n", i); n != 10 || err != nil {
			t.Fatal(n, err)
		}
	}
	text, missed := r.Text()
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(text) != 100 || len(lines) != 10 || lines[0] != "line 0990" || lines[9] != "line 0999" || missed != 990 {
		t.Errorf("%d bytes, %d missed: %q", len(text), missed, text)
	}
	if n, err := r.Write([]byte(strings.Repeat("x", 1000))); n != 1000 || err != nil || r.bytes != 100 ||
		len(r.lines) != 1 {
		t.Errorf("a long line: %d, %v; %d bytes in %d lines", n, err, r.bytes, len(r.lines))
	}
}

func TestRingIsBoundedUnderConcurrentWriters(t *testing.T) {
	r := New(1 << 16)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 5000 {
				fmt.Fprintf(r, "%d\n", i)
			}
		})
	}
	wg.Wait()
	lines := 0
	for _, line := range r.lines {
		if lines += len(line); line[len(line)-1] != '\n' {
			t.Fatalf("torn: %q", line)
		}
	}
	if lines != r.bytes || r.bytes > 1<<16 || len(r.lines)+r.missed != 40_000 {
		t.Errorf("%d bytes, counted %d; %d lines and %d missed", lines, r.bytes, len(r.lines), r.missed)
	}
}
