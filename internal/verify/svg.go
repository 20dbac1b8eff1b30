package verify

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/foreign"
	"github.com/snowgrid/snowgrid/sequencer"
)

// The picture has columnsMax columns, and at most bandsMax bands for the nodes.
const (
	columnsMax = 480
	bandsMax   = 64
)

// density counts the IDs in each column and band.
type density struct {
	format foreign.Format
	from   uint64 // units since the epoch
	width  uint64 // units in a column
	nodes  []uint32
	bands  map[uint32]int
	counts [][columnsMax]uint64
	marks  [][columnsMax]bool // duplicates, and shared nodes
}

func newDensity(r *reader) *density {
	d := &density{format: r.cfg.Format, nodes: slices.Sorted(maps.Keys(r.nodes)), bands: map[uint32]int{}}
	if len(d.nodes) == 0 {
		return d
	}
	first, _, _ := d.format.Ticks(sequencer.ID(r.first.id))
	last, _, _ := d.format.Ticks(sequencer.ID(r.last.id))
	d.from, d.width = first, (last-first)/columnsMax+1
	each := (len(d.nodes) + bandsMax - 1) / bandsMax
	for i, node := range d.nodes {
		d.bands[node] = i / each
	}
	d.counts = make([][columnsMax]uint64, d.bands[d.nodes[len(d.nodes)-1]]+1)
	d.marks = make([][columnsMax]bool, len(d.counts))
	return d
}

// column returns a time's column, the nearest one for a time outside.
func (d *density) column(ticks uint64) uint64 {
	if ticks < d.from {
		return 0
	}
	return min((ticks-d.from)/d.width, columnsMax-1)
}

func (d *density) add(ticks uint64, node uint32)  { d.counts[d.bands[node]][d.column(ticks)]++ }
func (d *density) mark(ticks uint64, node uint32) { d.marks[d.bands[node]][d.column(ticks)] = true }

// The sizes in the picture, in pixels.
const (
	cell, bandHeight = 2, 10
	left, top        = 110, 40
)

// SVG draws the IDs over time, with a band for each node or several nodes: the darker, the more IDs. Red marks
// duplicates and shared nodes.
func (r *Report) SVG(w io.Writer, title string) error {
	d := r.density
	out := bufio.NewWriter(w)
	width, height := left+columnsMax*cell+20, top+len(d.counts)*bandHeight+40
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="10">`+"\n",
		width, height)
	fmt.Fprintln(out, `<rect width="100%" height="100%" fill="#fff"/>`)
	fmt.Fprintf(out, `<text x="%d" y="20" font-size="13">%s</text>`+"\n", left, html.EscapeString(title))
	most := uint64(1)
	for _, band := range d.counts {
		most = max(most, slices.Max(band[:]))
	}
	for i := range d.counts {
		d.band(out, i, most)
	}
	if len(d.nodes) > 0 {
		y := top + len(d.counts)*bandHeight + 15
		fmt.Fprintf(out, `<text x="%d" y="%d">%s</text>`+"\n", left, y, d.format.Time(d.from).Format(time.RFC3339))
		fmt.Fprintf(out, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", left+columnsMax*cell, y,
			d.format.Time(d.from+d.width*columnsMax).Format(time.RFC3339))
		fmt.Fprintf(out, `<text x="%d" y="%d">a column is %v, the darkest has %d IDs</text>`+"\n", left, y+15,
			span(d.width, d.format.Unit), most)
	}
	fmt.Fprintln(out, "</svg>")
	return out.Flush()
}

func (d *density) band(out *bufio.Writer, i int, most uint64) {
	each := (len(d.nodes) + bandsMax - 1) / bandsMax
	lo, hi := d.nodes[i*each], d.nodes[min((i+1)*each, len(d.nodes))-1]
	label := fmt.Sprintf("node %d", lo)
	if lo != hi {
		label = fmt.Sprintf("nodes %d to %d", lo, hi)
	}
	y := top + i*bandHeight
	fmt.Fprintf(out, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", left-5, y+bandHeight-1, label)
	for from := 0; from < columnsMax; {
		to := from + 1
		for to < columnsMax && d.colour(i, to, most) == d.colour(i, from, most) {
			to++
		}
		if colour := d.colour(i, from, most); colour != "" {
			fmt.Fprintf(out, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`+"\n", left+from*cell, y, (to-from)*cell,
				bandHeight-1, colour)
		}
		from = to
	}
}

// colour returns a cell's colour, "" for none.
func (d *density) colour(band, column int, most uint64) string {
	n := d.counts[band][column]
	switch {
	case d.marks[band][column]:
		return "#d62728"
	case n == 0:
		return ""
	}
	light := 85 - int(60*math.Log1p(float64(n))/math.Log1p(float64(most)))
	return fmt.Sprintf("hsl(210,60%%,%d%%)", light)
}
