package main

import (
	"fmt"
	"html"
	"math"
	"strings"
	"time"
)

// The range of the picture's latency axis.
const (
	axisFrom = 10 * time.Nanosecond
	axisTo   = time.Second
)

// across returns a duration's position on the logarithmic axis.
func across(d time.Duration) float64 {
	d = min(max(d, axisFrom), axisTo)
	return left + width*math.Log(float64(d)/float64(axisFrom))/math.Log(float64(axisTo)/float64(axisFrom))
}

// drawLatency draws, for each calling pattern, one line per generator from the median to the
// 99.99th percentile, with a dot at each percentile between.
func drawLatency(measured []latencies) []byte {
	rows := 1
	for _, m := range measured {
		rows += 1 + len(m.rows)
	}
	b := canvas(rows, "latency of a call: dots at p50, p99, p99.9 and p99.99")
	drawAxis(b, row*rows+20)
	y := 26 + row
	for _, m := range measured {
		fmt.Fprintf(b, `<text x="8" y="%d" font-weight="bold">%s</text>`+"\n", y+14, html.EscapeString(m.title))
		y += row
		for _, l := range m.rows {
			drawRange(b, y, l)
			y += row
		}
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

func drawAxis(b *strings.Builder, bottom int) {
	for d := axisFrom; d <= axisTo; d *= 10 {
		fmt.Fprintf(b,
			`<line x1="%.1f" y1="46" x2="%.1f" y2="%d" stroke="#e2e6ec"/><text x="%.1f" y="40" text-anchor="middle" fill="#5a6472">%s</text>`+"\n",
			across(d), across(d), bottom, across(d), d)
	}
}

func drawRange(b *strings.Builder, y int, l *latency) {
	color := colorOf(l.name)
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%s</text>`, left-8, y+14, html.EscapeString(l.name))
	fmt.Fprintf(b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="%s" stroke-width="2"/>`,
		across(l.times.percentile(percentiles[0])), y+10, across(l.times.percentile(percentiles[len(percentiles)-1])),
		y+10, color)
	for _, q := range percentiles {
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%d" r="4" fill="%s"/>`, across(l.times.percentile(q)), y+10, color)
	}
	b.WriteString("\n")
}
