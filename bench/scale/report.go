package main

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"strconv"
)

// result is what an experiment has measured.
type result struct {
	experiment
	points []point
}

// point is what was measured at one size.
type point struct {
	size    int
	figures []figure
}

// figure is one measured quantity.
type figure struct {
	name  string
	value float64
	unit  string
}

func (p *point) add(name string, value float64, unit string) {
	p.figures = append(p.figures, figure{name, value, unit})
}

// String gives three digits and the unit.
func (f figure) String() string { return fmt.Sprintf("%s %s%s", f.name, digits(f.value), f.unit) }

// digits writes a number with three digits that count.
func digits(v float64) string {
	switch {
	case math.IsNaN(v), math.IsInf(v, 0), v < 0: // less than what else changed meanwhile
		return "-"
	case v == 0:
		return "0"
	}
	places := max(0, 2-int(math.Floor(math.Log10(math.Abs(v)))))
	return strconv.FormatFloat(v, 'f', places, 64)
}

// exponent is by which power of the size a figure grows: the slope of the straight
// line through the logarithms of all points.
func exponent(points []point, at int) float64 {
	var n, sx, sy, sxx, sxy float64
	for _, p := range points {
		if at >= len(p.figures) || p.figures[at].value <= 0 {
			continue
		}
		x, y := math.Log(float64(p.size)), math.Log(p.figures[at].value)
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}

// report writes all tables.
func report(results []result) []byte {
	var b bytes.Buffer
	p := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	p("# What it costs as it grows\n\nMade by `cd bench && go run ./scale` on %d cores, %s %s. Members, clients and the network run in one\nprocess, so times are those of one machine that does everything. The exponent is the power of the size by\nwhich a quantity grows: 0 is constant, 1 is in proportion.\n", runtime.NumCPU(), runtime.Version(), runtime.GOARCH)
	for _, r := range results {
		if len(r.points) == 0 {
			continue
		}
		p("\n## %s\n\n%s\n\n|", r.title, r.about)
		for _, point := range r.points {
			p(" | %d", point.size)
		}
		p(" | exponent |\n|%s\n", line(len(r.points)+2))
		for at, f := range r.points[0].figures {
			p("| %s%s |", f.name, inUnit(f.unit))
			for _, point := range r.points {
				p(" %s |", digits(point.figures[at].value))
			}
			p(" %.2f |\n", exponent(r.points, at))
		}
	}
	return b.Bytes()
}

func inUnit(unit string) string {
	if unit == "" {
		return ""
	}
	return ", " + unit
}

func line(columns int) (out string) {
	for range columns {
		out += "---|"
	}
	return out
}
