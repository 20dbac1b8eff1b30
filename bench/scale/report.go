package main

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
)

// result is an experiment's result.
type result struct {
	experiment
	points []point
}

// point is the measurement at one size.
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

// String returns three digits and the unit.
func (f figure) String() string { return fmt.Sprintf("%s %s%s", f.name, digits(f.value), f.unit) }

// digits formats a number with three significant digits.
func digits(v float64) string {
	switch {
	case math.IsNaN(v), math.IsInf(v, 0), v < 0: // below the noise
		return "-"
	case v == 0:
		return "0"
	}
	places := max(0, 2-int(math.Floor(math.Log10(math.Abs(v)))))
	return strconv.FormatFloat(v, 'f', places, 64)
}

// growth is the fitted straight line through the logarithms of all points: size to the power
// exponent, times factor.
type growth struct{ exponent, factor float64 }

// grows returns a figure's growth.
func grows(points []point, at int) growth {
	var n, sx, sy, sxx, sxy float64
	for _, p := range points {
		if p.figures[at].value <= 0 {
			continue
		}
		x, y := math.Log(float64(p.size)), math.Log(p.figures[at].value)
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	exponent := (n*sxy - sx*sy) / (n*sxx - sx*sx)
	return growth{exponent, math.Exp((sy - exponent*sx) / n)}
}

// at returns the line's value for a size.
func (g growth) at(size int) float64 { return g.factor * math.Pow(float64(size), g.exponent) }

// report writes all tables. Experiments that did not run are copied from the old report.
func report(results []result, old string) []byte {
	var b bytes.Buffer
	p := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	p("# Scaling\n\nMade by `cd bench && go run ./scale` on %d cores, %s %s. Members, clients and the network run in "+
		"one\nprocess, so times are those of one machine that does all the work. The exponent is the power of the size "+
		"by\nwhich a quantity grows: 0 is constant, 1 is proportional.\n", runtime.NumCPU(), runtime.Version(),
		runtime.GOARCH)
	for _, r := range results {
		if len(r.points) > 0 {
			r.write(p)
		} else if kept := section(old, r.title); kept != "" {
			p("\n%s\n", kept)
		}
	}
	return b.Bytes()
}

// section returns a report's section by title, "" if it is missing.
func section(report, title string) string {
	_, rest, found := strings.Cut(report, "\n## "+title+"\n")
	if !found {
		return ""
	}
	body, _, _ := strings.Cut(rest, "\n## ")
	return "## " + title + "\n" + strings.TrimRight(body, "\n")
}

// write formats one experiment's table.
func (r result) write(p func(format string, args ...any)) {
	p("\n## %s\n\n%s\n\n|", r.title, r.about)
	for _, point := range r.points {
		p(" | %d", point.size)
	}
	p(" | exponent |")
	columns := len(r.points) + 2
	if r.paper > 0 {
		p(" %d, extrapolated |", r.paper)
		columns++
	}
	p("\n|%s\n", line(columns))
	for at, f := range r.points[0].figures {
		p("| %s%s |", f.name, inUnit(f.unit))
		for _, point := range r.points {
			p(" %s |", digits(point.figures[at].value))
		}
		g := grows(r.points, at)
		p(" %s |", decimals(g.exponent))
		if r.paper > 0 {
			p(" %s |", digits(g.at(r.paper)))
		}
		p("\n")
	}
	if r.after != "" {
		p("\n%s\n", r.after)
	}
}

// decimals formats an exponent, "-" if there is only one point.
func decimals(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
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
