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

// report collects REPORT.md.
type report struct {
	body      strings.Builder
	headlines [][]string
	pictures  map[string][]byte // by file name
	load      string            // the machine's load at the start
	stolen    float64           // the machine's processor seconds used by others, until the start
	began     time.Time
}

func newReport() *report {
	return &report{pictures: map[string][]byte{}, load: loadAverage(), stolen: stolen(), began: time.Now()}
}

// p adds text to the current section.
func (r *report) p(format string, args ...any) { _, _ = fmt.Fprintf(&r.body, format, args...) }

// table adds a table to the current section.
func (r *report) table(head []string, rows [][]string) { r.body.WriteString(table(head, rows)) }

// headline adds a line to the summary: a metric, its value for snowgrid and for an
// alternative, and their ratio.
func (r *report) headline(metric, ours, other, ratio string) {
	r.headlines = append(r.headlines, []string{metric, ours, other, ratio})
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
	b.WriteString("# Speed compared with other generators\n\n")
	if *quick {
		b.WriteString("**A quick run: the samples are too small for meaningful figures.**\n\n")
	}
	took := time.Since(r.began)
	fmt.Fprintf(&b,
		"Made by `cd bench && go run .` on %s.\nLoad average %s at the start, %s at the end. The run took %v; other "+
			"machines on the same host used\n%.1f %% of the processors' time in it.\n\n",
		machine(), r.load, loadAverage(), took.Round(time.Second),
		100*(stolen()-r.stolen)/took.Seconds()/float64(runtime.NumCPU()))
	b.WriteString(`All candidates took turns in one run, so that noise affects them equally. Compare ratios within this
report, not figures of two reports. n/m means n bits of logical node and m bits of counter; 7/16, 6/16
and "16 bits" all have 65,536 IDs per millisecond. "8 nodes" is one striped handle over eight logical
nodes.
`)
	if len(r.headlines) > 0 {
		b.WriteString("\n" + table([]string{"metric", "snowgrid", "alternative", "ratio"}, r.headlines))
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

// times formats a ratio.
func times(ratio float64) string {
	switch {
	case ratio >= 1000:
		return thousands(ratio) + " times"
	case ratio >= 10:
		return fmt.Sprintf("%.0f times", ratio)
	}
	return fmt.Sprintf("%.2f times", ratio)
}

// rounded formats a large number with commas and three significant digits.
func rounded(v float64) string {
	unit := 1.0
	for v/unit >= 1000 {
		unit *= 10
	}
	return thousands(math.Round(v/unit) * unit)
}

// thousands formats a large number with commas.
func thousands(v float64) string {
	digits := fmt.Sprintf("%.0f", v)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// short formats a duration with two or three digits.
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

// machine describes this machine.
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

// loadAverage returns the number of processes that compete for a core, averaged over the last
// minute.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	first, _, found := strings.Cut(string(text), " ")
	if err != nil || !found {
		return "unknown"
	}
	return first
}

// stolen returns the processor seconds used by other virtual machines since this one started, 0
// where they are not counted.
func stolen() float64 {
	const ticks = 100 // per second, on Linux
	text, _ := os.ReadFile("/proc/stat")
	first, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(first)
	if len(fields) < 9 {
		return 0
	}
	v, _ := strconv.ParseFloat(fields[8], 64)
	return v / ticks
}
