// Package definitionflags has the flags by which command lines state the definition of a
// sequencer. Their tags are those of kong, which this package does not need.
package definitionflags

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Definition has the parts of a definition that an ID does not contain.
type Definition struct {
	Nodes  int    `help:"Logical nodes of the sequencer, rounded up to a power of two: 128 to 8192, or with --layout 16 to the nodes of the layout. 0 is the most." default:"0" env:"SNOWGRID_NODES"`
	Epoch  *Epoch `help:"Time origin of the sequencer: a time, a date, twitter, discord, or Unix milliseconds. By default 2026-01-01, or the one that belongs to --layout twitter or discord." env:"SNOWGRID_EPOCH" placeholder:"TIME"`
	Layout Layout `help:"How the bits of the IDs are divided: default, twitter, discord, jssafe, or BITS/LOWBITS/NODES such as 63/22/1024." default:"default" env:"SNOWGRID_LAYOUT"`
}

// Config returns the configuration that the flags state.
func (d Definition) Config() sequencer.Config {
	cfg := sequencer.Config{Epoch: d.Layout.epoch, Nodes: d.Nodes, Layout: d.Layout.Layout}
	if d.Epoch != nil {
		cfg.Epoch = d.Epoch.Epoch
	}
	return cfg
}

// New has the parts of the definition of a sequencer that may be created.
type New struct {
	Definition
	NodeRange NodeRange `help:"Logical nodes that holders can have, as LO-HI, if another generator of the same layout and epoch uses the other nodes. By default all." env:"SNOWGRID_NODE_RANGE" placeholder:"LO-HI"`
}

// Config returns the configuration that the flags state.
func (n New) Config() sequencer.Config {
	cfg := n.Definition.Config()
	cfg.NodeRange = n.NodeRange.NodeRange
	return cfg
}

// Layout is a layout on the command line, with the epoch that belongs to it.
type Layout struct {
	sequencer.Layout
	epoch epoch.Epoch
}

// UnmarshalText parses what [sequencer.ParseLayout] parses.
func (l *Layout) UnmarshalText(text []byte) (err error) {
	switch string(text) {
	case "twitter":
		l.epoch = epoch.Twitter
	case "discord":
		l.epoch = epoch.Discord
	default:
		l.epoch = epoch.Default
	}
	l.Layout, err = sequencer.ParseLayout(string(text))
	return err
}

// NodeRange is a range of logical nodes on the command line.
type NodeRange struct{ sequencer.NodeRange }

// UnmarshalText parses a range such as 32-1023.
func (r *NodeRange) UnmarshalText(text []byte) error {
	lo, hi, ok := strings.Cut(string(text), "-")
	low, err := strconv.ParseUint(lo, 10, 16)
	high, err2 := strconv.ParseUint(hi, 10, 16)
	if !ok || err != nil || err2 != nil || low > high || high == 0 {
		return fmt.Errorf("%q is not a range of logical nodes; write the lowest and the highest, as in 32-1023", text)
	}
	r.NodeRange = sequencer.NodeRange{Lo: sequencer.NodeID(low), Hi: sequencer.NodeID(high)}
	return nil
}

// Epoch is an epoch on the command line.
type Epoch struct{ epoch.Epoch }

// UnmarshalText parses the name of a preset, Unix milliseconds, or a time accepted by
// ParseTime.
func (e *Epoch) UnmarshalText(text []byte) error {
	s := string(text)
	switch s {
	case "twitter":
		e.Epoch = epoch.Twitter
		return nil
	case "discord":
		e.Epoch = epoch.Discord
		return nil
	}
	if ms, err := strconv.ParseInt(s, 10, 64); err == nil {
		e.Epoch = epoch.UnixMilli(ms)
		return nil
	}
	t, err := ParseTime(s)
	e.Epoch = epoch.At(t)
	return err
}

// Moment is a time on the command line.
type Moment struct{ time.Time }

// UnmarshalText parses what ParseTime parses.
func (m *Moment) UnmarshalText(text []byte) (err error) {
	m.Time, err = ParseTime(string(text))
	return err
}

// ParseTime parses a time in RFC 3339, or a date, which means midnight UTC.
func ParseTime(s string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%q is not a time; write it as 2026-01-01T00:00:00Z or 2026-01-01", s)
}
