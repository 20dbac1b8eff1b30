package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// screen prints the progress of the demo. On a terminal the line with the counts remains
// the last one and is overwritten; otherwise a new one is printed each second.
type screen struct {
	out   io.Writer
	live  bool
	width func() int // columns of the terminal, which may change; 0 if they are not known
	at    time.Time  // when the last line with counts was printed
}

const (
	clearLine = "\r\x1b[K"
	bold      = "\x1b[1m"
	normal    = "\x1b[0m"
)

func newScreen(out io.Writer, plain bool) *screen {
	s := &screen{out: out, live: !plain && isTerminal(out), width: func() int { return 0 }}
	if file, ok := out.(*os.File); ok && s.live {
		s.width = func() int { return columns(file) }
	}
	return s
}

// isTerminal reports whether a stream is a terminal: a character device other than /dev/null.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// say prints a sentence that stays on the screen.
func (s *screen) say(sentence string) {
	if s.live {
		fmt.Fprintf(s.out, "%s%s%s%s\n", clearLine, bold, folded(sentence, s.width()), normal)
		return
	}
	fmt.Fprintln(s.out, sentence)
}

// folded breaks a sentence between words into lines that a terminal's columns have room for.
func folded(sentence string, columns int) string {
	if columns <= 0 {
		return sentence
	}
	var text strings.Builder
	used := 0
	for i, word := range strings.Fields(sentence) {
		switch {
		case i == 0:
		case used+1+len(word) > columns:
			text.WriteByte('\n')
			used = 0
		default:
			text.WriteByte(' ')
			used++
		}
		text.WriteString(word)
		used += len(word)
	}
	return text.String()
}

// follow prints the counts until d has passed or ctx has ended.
func (s *screen) follow(ctx context.Context, f *flow, d time.Duration) {
	done := time.NewTimer(d)
	defer done.Stop()
	tick := time.NewTicker(min(d, 200*time.Millisecond))
	defer tick.Stop()
	for {
		s.counts(f)
		select {
		case <-tick.C:
		case <-done.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// counts prints the counts, once a second or, on a terminal, each time.
func (s *screen) counts(f *flow) {
	now := time.Now()
	if now.Sub(s.at) < time.Second && !s.live {
		return
	}
	s.at = now
	v := f.checker.verdict()
	line := fmt.Sprintf("%5.1fs  %s IDs, %s, longest Next call %v", now.Sub(f.began).Seconds(),
		grouped(v.ids), counted(int(v.duplicates), "duplicate"), f.longestNext())
	if s.live {
		// A line that the terminal wraps is not overwritten.
		if text, most := []rune(line), s.width(); most > 0 && len(text) >= most {
			line = string(text[:most-1])
		}
		fmt.Fprint(s.out, clearLine, line)
		return
	}
	fmt.Fprintln(s.out, line)
}

// grouped formats a number with commas between the thousands.
func grouped(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
