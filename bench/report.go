package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// report is REPORT.md while it grows.
type report struct {
	body      strings.Builder
	headlines [][]string
	pictures  map[string][]byte // by file name
	load      string            // of the machine when it began
	stolen    float64           // seconds of the machine's processors that went to others, until it began
	began     time.Time
}

func newReport() *report {
	return &report{pictures: map[string][]byte{}, load: loadAverage(), stolen: stolen(), began: time.Now()}
}

// p adds text to the section under way.
func (r *report) p(format string, args ...any) { _, _ = fmt.Fprintf(&r.body, format, args...) }

// table adds a table to the section under way.
func (r *report) table(head []string, rows [][]string) { r.body.WriteString(table(head, rows)) }

// headline adds a line to the table at the top: how snowgrid does, how the other
// does, and by how much they differ.
func (r *report) headline(what, ours, other, ratio string) {
	r.headlines = append(r.headlines, []string{what, ours, other, ratio})
}

// save writes the report and its pictures.
func (r *report) save(dir string) error {
	files := map[string][]byte{"REPORT.md": []byte(r.head() + r.body.String())}
	for name, picture := range r.pictures {
		files[name] = picture
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return err
		}
	}
	fmt.Printf("wrote %d files to %s after %v\n", len(files), dir, time.Since(r.began).Round(time.Second))
	return nil
}

func (r *report) head() string {
	var b strings.Builder
	b.WriteString("# Speed, beside other generators\n\n")
	if *quick {
		b.WriteString("**A quick run: the samples are too small for the figures to mean anything.**\n\n")
	}
	took := time.Since(r.began)
	fmt.Fprintf(&b, "Made by `cd bench && go run .` on %s.\nLoad average %s at the beginning, %s at the end; the run took %v, in which other machines of the same host took\n%.1f %% of the processors' time.\n\n",
		machine(), r.load, loadAverage(), took.Round(time.Second), 100*(stolen()-r.stolen)/took.Seconds()/float64(runtime.NumCPU()))
	b.WriteString(`Whatever is compared took turns in one run, so that noise hits all alike. Compare ratios within this
report, not figures of two reports. n/m is n bits of logical node and m bits of counter; at 7/16, 6/16
and "16 bits" a millisecond has 65,536 IDs, so these share one ID space. "8 nodes" is one striped handle
over eight logical nodes.
`)
	if len(r.headlines) > 0 {
		b.WriteString("\n" + table([]string{"in short", "snowgrid", "beside it", "which is"}, r.headlines))
	}
	return b.String()
}

func table(head []string, rows [][]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	return b.String()
}

// times writes a ratio.
func times(ratio float64) string {
	switch {
	case ratio >= 1000:
		return thousands(ratio) + " times"
	case ratio >= 10:
		return fmt.Sprintf("%.0f times", ratio)
	}
	return fmt.Sprintf("%.2f times", ratio)
}

// rounded writes a large number with commas and three digits that are not 0.
func rounded(v float64) string {
	unit := 1.0
	for v/unit >= 1000 {
		unit *= 10
	}
	return thousands(math.Round(v/unit) * unit)
}

// thousands writes a large number with commas.
func thousands(v float64) string {
	digits := fmt.Sprintf("%.0f", v)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// short writes a duration with two or three digits.
func short(d time.Duration) string {
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}} {
		switch v := float64(d) / float64(unit.of); {
		case v >= 10:
			return fmt.Sprintf("%.0f %s", v, unit.name)
		case v >= 1:
			return fmt.Sprintf("%.1f %s", v, unit.name)
		}
	}
	return fmt.Sprintf("%d ns", d.Nanoseconds())
}

// machine says where this runs.
func machine() string {
	model := runtime.GOARCH
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, found := strings.CutPrefix(line, "model name"); found {
				model = strings.TrimSpace(strings.TrimLeft(name, " \t:"))
				break
			}
		}
	}
	return fmt.Sprintf("%d cores of %s, %s", runtime.NumCPU(), model, runtime.Version())
}

// loadAverage is how many processes want a core, averaged over the last minute.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	first, _, found := strings.Cut(string(text), " ")
	if err != nil || !found {
		return "unknown"
	}
	return first
}

// stolen is how many seconds the processors of this virtual machine were given to others
// since it began, 0 where nobody counts that.
func stolen() float64 {
	const ticks = 100 // a second, on Linux
	text, _ := os.ReadFile("/proc/stat")
	first, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(first)
	if len(fields) < 9 {
		return 0
	}
	v, _ := strconv.ParseFloat(fields[8], 64)
	return v / ticks
}
