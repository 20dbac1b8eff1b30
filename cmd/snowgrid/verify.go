package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/snowgrid/snowgrid/internal/definitionflags"
	"github.com/snowgrid/snowgrid/internal/foreign"
	"github.com/snowgrid/snowgrid/internal/verify"
	"github.com/snowgrid/snowgrid/sequencer"
)

type verifyCommand struct {
	File string `arg:"" help:"File with one ID per line, or rows of columns; - for standard input."`
	definitionflags.Definition
	From string `help:"Generator of the IDs instead of a sequencer: ${generatornames}." placeholder:"GENERATOR"`
	formatFlags
	NodeRange  nodeRange               `help:"Nodes of the generator; IDs of other nodes are reported." placeholder:"LO-HI"`
	Since      *definitionflags.Moment `help:"Earliest time of an ID. By default the epoch." placeholder:"TIME"`
	Until      *definitionflags.Moment `help:"Latest time of an ID. By default half a minute after now." placeholder:"TIME"`
	Order      string                  `help:"Whether the rows are in the order in which the IDs were made: auto, made or none. Only then are steps back in time reported; auto finds out." enum:"auto,made,none" default:"auto"`
	IDColumn   string                  `help:"Column of the ID in rows of columns: its name in the header, or its number from 1 on." name:"id-column" placeholder:"COLUMN"`
	HostColumn string                  `help:"Column of the host that made the ID." placeholder:"COLUMN"`
	Delimiter  string                  `help:"Character between columns; tab for a tab." default:","`
	Reassigned bool                    `help:"Nodes pass from host to host, as in a grid: report only hosts that take turns within 10 s."`
	Show       int                     `help:"Lines to print for each kind of problem." default:"10"`
	SVG        string                  `help:"Write a picture of the IDs over time by node into this file." name:"svg" placeholder:"FILE"`
	TempDir    string                  `help:"Directory for a temporary file of 5 to 12 bytes per row. By default the system's." placeholder:"DIR"`
	outputFlag
}

// nodeRange is a range of another generator's nodes.
type nodeRange struct{ of *verify.NodeRange }

// UnmarshalText parses a range such as 0-31.
func (r *nodeRange) UnmarshalText(text []byte) error {
	lo, hi, ok := strings.Cut(string(text), "-")
	low, err := strconv.ParseUint(lo, 10, 32)
	high, err2 := strconv.ParseUint(hi, 10, 32)
	if !ok || err != nil || err2 != nil || low > high {
		return fmt.Errorf("%q is not a range of nodes; write the lowest and the highest, as in 0-31", text)
	}
	r.of = &verify.NodeRange{Lo: uint32(low), Hi: uint32(high)}
	return nil
}

// futureAllowed is the time by which an ID may be later than now: clocks differ, and a grid's time may lead.
const futureAllowed = 30 * time.Second

type verified struct {
	Format string `json:"format"`
	*verify.Report
}

func (c *verifyCommand) Run(ctx context.Context, to streams) error {
	cfg, err := c.config()
	if err != nil {
		return usage(err)
	}
	in, size, err := c.open(to.in)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	progress := &verify.Progress{}
	stop := showProgress(to.err, progress, size)
	report, err := verify.Check(ctx, cfg, in, progress)
	stop()
	switch {
	case errors.Is(err, verify.ErrColumns):
		return usage(err)
	case err != nil:
		return err
	}
	if c.SVG != "" {
		if err := c.draw(report); err != nil {
			return err
		}
	}
	if c.json() {
		err = c.result(to.out, verified{cfg.Format.String(), report}, nil)
	} else {
		err = printReport(to.out, cfg, report)
	}
	if err == nil && !report.Clean() {
		return degraded("%s has %s", c.name(), problems(report))
	}
	return err
}

func (c *verifyCommand) name() string {
	if c.File == "-" {
		return "the input"
	}
	return c.File
}

// config returns the check that the flags state.
func (c *verifyCommand) config() (verify.Config, error) {
	out := verify.Config{Nodes: c.NodeRange.of, Until: time.Now().Add(futureAllowed), Reassigned: c.Reassigned,
		Columns: verify.Columns{ID: c.IDColumn, Host: c.HostColumn}, Show: c.Show, TempDir: c.TempDir,
		Order: map[string]verify.Order{"auto": verify.Auto, "made": verify.Made, "none": verify.Unordered}[c.Order],
	}
	if c.Since != nil {
		out.Since = c.Since.Time
	}
	if c.Until != nil {
		out.Until = c.Until.Time
	}
	if c.Show < 0 {
		return out, fmt.Errorf("--show %d is below 0; give the number of lines for each kind of problem", c.Show)
	}
	if out.Columns != (verify.Columns{}) {
		delimiter := strings.ReplaceAll(c.Delimiter, "tab", "\t")
		comma, n := utf8.DecodeRuneInString(delimiter)
		if n != len(delimiter) || n == 0 || strings.ContainsRune("\r\n\"", comma) || comma == utf8.RuneError {
			return out, fmt.Errorf("--delimiter %q is not one character; give one such as ; or tab", c.Delimiter)
		}
		out.Columns.Comma = comma
	}
	var err error
	out.Format, err = c.format()
	return out, err
}

// format returns the format of the IDs: of a sequencer, or of another generator.
func (c *verifyCommand) format() (foreign.Format, error) {
	if c.From == "" {
		if c.formatFlags != (formatFlags{}) {
			return foreign.Format{}, errors.New("--old-epoch, --old-bits and --old-unit change the format of --from; " +
				"a sequencer's is stated by --epoch, --nodes and --layout")
		}
		d, err := sequencer.Define("verified", c.Config())
		if err != nil {
			return foreign.Format{}, err
		}
		return foreign.Of(d), nil
	}
	if c.Config() != (definitionflags.Definition{}).Config() {
		return foreign.Format{}, errors.New(
			"--from states the format; change it by --old-epoch, --old-bits and --old-unit, " +
				"not by --epoch, --nodes and --layout")
	}
	f, err := foreign.Find(c.From)
	if err != nil {
		return f, err
	}
	return c.apply(f)
}

// open returns the rows and their size in bytes, 0 if unknown.
func (c *verifyCommand) open(stdin io.Reader) (io.ReadCloser, uint64, error) {
	if c.File == "-" {
		if stdin == nil {
			stdin = bytes.NewReader(nil)
		}
		return io.NopCloser(stdin), 0, nil
	}
	file, err := os.Open(c.File)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %s; give a file with IDs, or - for the standard input", c.File, cause(err))
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a directory; give a file with IDs", c.File)
	}
	if err != nil {
		_ = file.Close()
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return file, 0, nil
	}
	return file, uint64(info.Size()), nil
}

func (c *verifyCommand) draw(report *verify.Report) error {
	file, err := os.Create(c.SVG)
	if err != nil {
		return err
	}
	if err := report.SVG(file, filepath.Base(c.name())); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}
