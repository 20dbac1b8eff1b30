package main

import (
	"fmt"
	"html"
	"io"
	"os"
	"runtime"
	"strings"
)

// write writes the report.
func write(to io.Writer, all []generator, costs []cost, rates [][]rate) {
	p := func(format string, args ...any) { _, _ = fmt.Fprintf(to, format, args...) }
	p("# Speed, beside other generators\n\nMade by `cd bench && go run .` on %s.\n", machine())
	p("All generators took turns in one process; the figures are medians. Compare ratios within\nthis report, not figures of two.\n\n")
	p("n/m is n bits of logical node and m bits of counter; at 7/16, 6/16 and \"16 bits\" a millisecond\nhas 65,536 IDs, so these share one ID space.\n\n")
	base := costs[find(all, "bwmarrin/snowflake 6/16")].ns
	p("## A call while the limit is far\n\n![cost of an ID](cost.svg)\n\n| generator | ns an ID | tenth percentile | allocations | bwmarrin 6/16 takes |\n|---|---|---|---|---|\n")
	for i, g := range all {
		p("| %s | %.1f | %.1f | %.2g | %.2f times as long |\n", g.name, costs[i].ns, costs[i].low, costs[i].allocs, base/costs[i].ns)
	}
	p("\n## As many as there are\n\nThe share of the own ID space, and the processor cores burnt, by the number of goroutines. Where\nthe ID space has no limit, IDs a microsecond.\n\n| generator |")
	for _, n := range goroutines {
		p(" %d |", n)
	}
	p("\n|---|%s\n", strings.Repeat("---|", len(goroutines)))
	for i, g := range all {
		p("| %s |", g.name)
		for j := range goroutines {
			if r := rates[i][j]; g.perMilli > 0 {
				p(" %.3f, %.2f cores |", r.share, r.cores)
			} else {
				p(" %.1f/µs, %.2f cores |", r.perMilli/1000, r.cores)
			}
		}
		p("\n")
	}
	p("\nNot measured here: Redis INCR, etcd, latency percentiles.\n")
}

func find(all []generator, name string) int {
	for i, g := range all {
		if g.name == name {
			return i
		}
	}
	return 0
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

// draw draws the costs as bars.
func draw(all []generator, costs []cost) []byte {
	const row, left, width = 24, 220, 420
	most := 0.0
	for _, c := range costs {
		most = max(most, min(c.ns, 400))
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", left+width+80, row*len(all)+30)
	fmt.Fprintf(&b, `<text x="%d" y="16">ns an ID, below the limit; shorter is better</text>`+"\n", left)
	for i, g := range all {
		y := 26 + i*row
		color := "#b0b8c4"
		if strings.HasPrefix(g.name, "snowgrid") {
			color = "#2b6cb0"
		}
		bar := min(costs[i].ns, most) / most * width
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text><rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/><text x="%.1f" y="%d">%.1f</text>`+"\n",
			left-8, y+14, html.EscapeString(g.name), left, y, bar, row-8, color, left+bar+6, y+14, costs[i].ns)
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}
