package main

import (
	"fmt"
	"html"
	"strings"
)

// Colours in pictures, and the distance between their rows.
const (
	oursColor, othersColor = "#2b6cb0", "#8a94a3"
	row, left, width       = 24, 220, 420
)

// colorOf returns another colour for snowgrid than for the alternatives.
func colorOf(name string) string {
	if strings.HasPrefix(name, "snowgrid") {
		return oursColor
	}
	return othersColor
}

// canvas begins a picture with rows and a title.
func canvas(rows int, title string) *strings.Builder {
	var b strings.Builder
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n",
		left+width+80, row*rows+36)
	b.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
	fmt.Fprintf(&b, `<text x="%d" y="16">%s</text>`+"\n", left, html.EscapeString(title))
	return &b
}

// drawCosts draws the costs as bars.
func drawCosts(all []generator, spent []cost) []byte {
	most := 0.0
	for _, c := range spent {
		most = max(most, min(c.ns, 400))
	}
	b := canvas(len(all), "ns per ID, below the limit; shorter is better")
	for i, g := range all {
		y := 26 + i*row
		bar := min(spent[i].ns, most) / most * width
		fmt.Fprintf(b,
			`<text x="%d" y="%d" text-anchor="end">%s</text><rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/><text x="%.1f" y="%d">%.1f</text>`+"\n",
			left-8, y+14, html.EscapeString(g.name), left, y, bar, row-8, colorOf(g.name), left+bar+6, y+14, spent[i].ns)
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}
