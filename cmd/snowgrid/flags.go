package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/sequencer"
)

// leaveTimeout limits the time in which a command releases its logical nodes at the
// end. The grid reclaims the others after their session.
const leaveTimeout = 5 * time.Second

// layoutFlags are the parts of a definition that an ID does not contain.
type layoutFlags struct {
	Nodes  int        `help:"Logical nodes of the sequencer, rounded up to a power of two: 128 to 8192, or with --layout 16 to the nodes of the layout. 0 is the most." default:"0" env:"SNOWGRID_NODES"`
	Epoch  *epochFlag `help:"Time origin of the sequencer: a time, a date, twitter, discord, or Unix milliseconds. By default 2026-01-01, or the one that belongs to --layout twitter or discord." env:"SNOWGRID_EPOCH" placeholder:"TIME"`
	Layout layoutFlag `help:"How the bits of the IDs are divided: default, twitter, discord, jssafe, or BITS/LOWBITS/NODES such as 63/22/1024." default:"default" env:"SNOWGRID_LAYOUT"`
}

func (f layoutFlags) config() sequencer.Config {
	cfg := sequencer.Config{Epoch: f.Layout.epoch, Nodes: f.Nodes, Layout: f.Layout.Layout}
	if f.Epoch != nil {
		cfg.Epoch = f.Epoch.Epoch
	}
	return cfg
}

// layoutFlag is a layout on the command line, with the epoch that belongs to it.
type layoutFlag struct {
	sequencer.Layout
	epoch epoch.Epoch
}

// UnmarshalText parses what [sequencer.ParseLayout] parses.
func (l *layoutFlag) UnmarshalText(text []byte) (err error) {
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

// gridFlags are the addresses of the grid.
type gridFlags struct {
	Addr    []string      `help:"API addresses of members; one reachable address is enough." default:"127.0.0.1:7948" env:"SNOWGRID_ADDR"`
	Timeout time.Duration `help:"Time limit for answers of the grid." default:"10s" env:"SNOWGRID_TIMEOUT"`
}

// ask runs f with the time limit for calls to the grid.
func (g gridFlags) ask(ctx context.Context, f func(context.Context) error) error {
	asking, cancel := context.WithTimeout(ctx, g.Timeout)
	defer cancel()
	return f(asking)
}

// use runs f with a client, which has left the grid when use returns.
func (g gridFlags) use(ctx context.Context, f func(*client.Client) error) (err error) {
	var c *client.Client
	err = g.ask(ctx, func(ctx context.Context) (err error) {
		c, err = client.Dial(ctx, client.Config{Addrs: g.Addr})
		return err
	})
	if err != nil {
		return err
	}
	defer func() {
		// ctx may have ended; leaving has a time limit of its own.
		leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
		defer cancel()
		if leaveErr := c.Leave(leaving); leaveErr != nil && err == nil {
			err = fmt.Errorf("leave the grid: %w", leaveErr)
		}
	}()
	return f(c)
}

// epochFlag is an epoch on the command line.
type epochFlag struct{ epoch.Epoch }

// UnmarshalText parses the name of a preset, Unix milliseconds, or a time accepted by
// parseTime.
func (e *epochFlag) UnmarshalText(text []byte) error {
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
	t, err := parseTime(s)
	e.Epoch = epoch.At(t)
	return err
}

// parseTime parses a time in RFC 3339, or a date, which means midnight UTC.
func parseTime(s string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%q is not a time; write it as 2026-01-01T00:00:00Z or 2026-01-01", s)
}
