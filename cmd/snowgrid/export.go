package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/durable"
	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// exportCommand writes the definitions, numbers, settings and quotas of a grid into one file.
type exportCommand struct {
	File string `short:"f" help:"File to write; it must not exist. Default: standard output." placeholder:"FILE"`
	gridFlags
}

const exportVersion = 1

// exportLine is a line of an export, of which one field is set: a header first, an end last.
type exportLine struct {
	Header    *exportHeader     `json:"snowgrid_export,omitempty"`
	Sequencer *exportedName     `json:"sequencer,omitempty"`
	Destroyed *exportedName     `json:"destroyed,omitempty"`
	Set       *wire.IdentitySet `json:"identity_set,omitempty"`
	Settings  *exportedSettings `json:"settings,omitempty"`
	Quota     *roster.Quota     `json:"quota,omitempty"`
	End       *exportEnd        `json:"end,omitempty"`
}

// exportHeader names the exported grid. All IDs that the grid had issued when the export ended, also of
// destroyed sequencers, are from before Until.
type exportHeader struct {
	Version int       `json:"version"`
	Grid    string    `json:"grid"` // its name
	ID      string    `json:"id"`
	Until   time.Time `json:"until"`
}

// exportedName is a sequencer's definition. A grid keeps a destroyed sequencer's definition, too: with another
// one the name could issue IDs again.
type exportedName struct {
	Name      string           `json:"name"`
	Epoch     int64            `json:"epoch"` // Unix ms
	Nodes     int              `json:"nodes"`
	Layout    sequencer.Layout `json:"layout"`
	NodeRange wire.NodeRange   `json:"node_range,omitzero"`
}

func exportedRow(row wire.SequencerRow) exportedName {
	return exportedName{row.Name, row.Epoch.UnixMilli(), row.Nodes, row.Layout, row.NodeRange}
}

func (e exportedName) request() wire.CreateRequest {
	return wire.CreateRequest{Name: e.Name, Epoch: &e.Epoch, Nodes: e.Nodes, Layout: wire.Layout(e.Layout),
		NodeRange: e.NodeRange}
}

// exportedSettings are the settings that a running grid can change.
type exportedSettings struct {
	Backups int   `json:"backups"`
	Window  int64 `json:"window_ms"`
	Voters  int   `json:"voters"`
	Expect  int   `json:"expect,omitempty"`
}

// exportEnd is the last line. Sum is the SHA-256 of all bytes before it, in hexadecimal digits.
type exportEnd struct {
	Sequencers int    `json:"sequencers"`
	Sum        string `json:"sha256"`
}

func (c *exportCommand) Run(ctx context.Context, to streams) error {
	if c.File != "" {
		if _, err := os.Lstat(c.File); err == nil {
			return usage(fmt.Errorf("%s exists; remove it, or name another file", c.File))
		}
		if _, err := os.Stat(filepath.Dir(c.File)); err != nil {
			return usage(fmt.Errorf("%s: its directory: %s; name a file in a directory that exists", c.File, cause(err)))
		}
	}
	out, lines, err := c.export(ctx, to)
	if err != nil {
		return asking(err)
	}
	if c.File == "" {
		_, err := to.out.Write(out)
		return err
	}
	if err := durable.Replace(c.File, out, nil); err != nil {
		return err
	}
	_, err = fmt.Fprintf(to.err, "exported %s to %s\n", counted(lines, "sequencer"), c.File)
	return err
}

// export returns the file, and how many sequencers it has.
func (c *exportCommand) export(ctx context.Context, to streams) (out []byte, names int, err error) {
	rows, err := c.names(ctx, to, false)
	if err != nil {
		return nil, 0, err
	}
	destroyed, err := c.names(ctx, to, true) // second: a sequencer that is destroyed meanwhile is in both lists
	if err != nil {
		return nil, 0, err
	}
	settings, err := c.settings(ctx, wire.SettingsRequest{})
	if err != nil {
		return nil, 0, err
	}
	numbered := identityListCommand{gridOutput: gridOutput{c.gridFlags, outputFlag{Output: "json"}}}
	sets, err := asked(ctx, c.gridFlags, numbered.sets)
	if err != nil {
		return nil, 0, err
	}
	status, err := c.status(ctx) // after the list: its names have issued no ID after this time
	if err != nil {
		return nil, 0, err
	}
	header, err := headerOf(status)
	if err != nil {
		return nil, 0, err
	}
	lines := []exportLine{{Header: &header}, {Settings: &exportedSettings{Backups: settings.Backups,
		Window: settings.Window.Duration().Milliseconds(), Voters: settings.Voters, Expect: settings.Expect}}}
	for _, set := range sets.Sets {
		lines = append(lines, exportLine{Set: &set})
	}
	exists := map[string]bool{}
	for _, row := range rows {
		exists[row.Name] = true
		lines = append(lines, exportLine{Sequencer: new(exportedRow(row))})
	}
	for _, row := range destroyed {
		if row.Destroyed && !exists[row.Name] {
			lines = append(lines, exportLine{Destroyed: new(exportedRow(row))})
		}
	}
	for _, q := range settings.Quotas {
		lines = append(lines, exportLine{Quota: &q.Quota})
	}
	out, err = encodeExport(lines, len(rows))
	return out, len(rows), err
}

// errNotListed is matched by the error for sequencers that no owner listed.
var errNotListed = errors.New("the list of sequencers is not complete")

// names returns all sequencers, or the destroyed ones, a page in each call.
func (c *exportCommand) names(ctx context.Context, to streams, destroyed bool) (rows []wire.SequencerRow, err error) {
	in, said := wire.SequencersRequest{Limit: wire.MaxPage, Destroyed: destroyed}, time.Now()
	for {
		var page wire.SequencersResponse
		err := c.ask(ctx, func(ctx context.Context) error {
			_, err := fetchPage(ctx, c.Addr, wire.PathSequencers, in, &page)
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(page.Names) > 0 {
			return nil, fmt.Errorf("these credentials may use %q only, and the others would be missing; give credentials "+
				"without --names", page.Names)
		}
		if missing := page.Missing(); missing != "" {
			return nil, fmt.Errorf("%w: %s; repeat the command when status is settled", errNotListed, missing)
		}
		rows = append(rows, page.Sequencers...)
		if in.After = page.Next; page.Next == "" {
			return rows, nil
		}
		if time.Since(said) > progressPause {
			said = time.Now()
			fmt.Fprintf(to.err, "%s so far\n", counted(len(rows), "sequencer"))
		}
	}
}

// progressPause is the time between two lines about progress.
const progressPause = 2 * time.Second

// headerOf returns the header of an export of a grid. Grants end at the ceiling. A member may have an
// earlier ceiling than the leader, by less than a window.
func headerOf(s grid.Status) (exportHeader, error) {
	if s.Version == 0 || s.ClusterTime.IsZero() {
		return exportHeader{}, errors.New("the member is part of no grid; export from a member that is ready")
	}
	until := s.ClusterTime
	if s.Ceiling.After(until) {
		until = s.Ceiling
	}
	return exportHeader{Version: exportVersion, Grid: s.Name, ID: s.Grid,
		Until: until.Add(s.Settings.Window.Duration()).UTC().Truncate(time.Millisecond)}, nil
}

func encodeExport(lines []exportLine, names int) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	for _, line := range lines {
		if err := encoder.Encode(line); err != nil {
			return nil, err
		}
	}
	sum := sha256.Sum256(out.Bytes())
	err := encoder.Encode(exportLine{End: &exportEnd{Sequencers: names, Sum: hex.EncodeToString(sum[:])}})
	return out.Bytes(), err
}

type exportFile struct {
	header    exportHeader
	names     []exportedName
	destroyed []exportedName
	sets      []wire.IdentityImportRequest
	settings  *exportedSettings
	quotas    []roster.Quota
}

// exportLineMax bounds a line: a set with all its numbers.
const exportLineMax = answerBytesMax

func readExport(from io.Reader) (*exportFile, error) {
	file, sum, seen := &exportFile{}, sha256.New(), map[string]bool{}
	in := bufio.NewScanner(from)
	in.Buffer(nil, exportLineMax)
	ended := false
	number := 1
	for ; in.Scan(); number++ {
		fault := func(format string, args ...any) error {
			return fmt.Errorf("line %d: %w", number, fmt.Errorf(format, args...))
		}
		if bytes.HasPrefix(in.Bytes(), []byte{0x1f, 0x8b}) && number == 1 {
			return nil, fault("this is compressed; give it by gunzip < FILE | snowgrid import -")
		}
		var line importLine
		switch err := json.Unmarshal(in.Bytes(), &line); {
		case err != nil:
			return nil, fault("not a line of an export: %w", err)
		case ended:
			return nil, fault("the file continues after its end; export again")
		case (line.Header != nil) != (number == 1):
			return nil, fault("an export begins with one header; give a file of snowgrid export")
		case line.parts() != 1:
			return nil, fault("it has %d parts and not one; import it with the release that exported it", line.parts())
		}
		if err := file.take(line, seen); err != nil {
			return nil, fault("%w", err)
		}
		if line.End != nil {
			if got := hex.EncodeToString(sum.Sum(nil)); got != line.End.Sum || line.End.Sequencers != len(file.names) {
				return nil, fault("the file was changed: %d sequencers with checksum %s, its end says %d and %s",
					len(file.names), got, line.End.Sequencers, line.End.Sum)
			}
			ended = true
		}
		_, _ = sum.Write(in.Bytes())
		_, _ = sum.Write([]byte{'\n'})
	}
	switch {
	case errors.Is(in.Err(), bufio.ErrTooLong):
		return nil, fmt.Errorf("line %d has more than %d bytes; give a file of snowgrid export", number, exportLineMax)
	case in.Err() != nil:
		return nil, in.Err()
	case !ended:
		return nil, errors.New("the file has no end, so a part is missing; export again")
	}
	return file, roster.CheckQuotas(file.quotas)
}

type importLine struct {
	exportLine
	Set *wire.IdentityImportRequest `json:"identity_set"`
}

// parts returns how many fields are set.
func (l importLine) parts() (n int) {
	for _, set := range []bool{l.Header != nil, l.Sequencer != nil, l.Destroyed != nil, l.Set != nil,
		l.Settings != nil, l.Quota != nil, l.End != nil} {
		if set {
			n++
		}
	}
	return n
}

// check refuses a name that was seen, and a definition that no sequencer has.
func (e exportedName) check(seen map[string]bool) error {
	if seen[e.Name] {
		return fmt.Errorf("%q is there twice", e.Name)
	}
	seen[e.Name] = true
	_, err := sequencer.Define(e.Name, e.request().Config())
	return err
}

// take checks a line and takes what it has.
func (f *exportFile) take(line importLine, seen map[string]bool) error {
	switch {
	case line.Header != nil:
		if h := line.Header; h.Version != exportVersion {
			return fmt.Errorf("format %d; this release reads format %d", h.Version, exportVersion)
		} else if h.ID == "" || h.Until.Year() < 2000 || h.Until.Year() > 2200 {
			return fmt.Errorf("the header has the grid %q and the time %s; export again", h.ID, moment(h.Until))
		}
		f.header = *line.Header
	case line.Sequencer != nil:
		f.names = append(f.names, *line.Sequencer)
		return line.Sequencer.check(seen)
	case line.Destroyed != nil:
		f.destroyed = append(f.destroyed, *line.Destroyed)
		return line.Destroyed.check(seen)
	case line.Set != nil:
		in := line.Set
		f.sets = append(f.sets, *in)
		return numbers.Command{Cluster: in.Cluster, Name: in.Name,
			Import: &numbers.Imported{Next: in.Next, Incarnation: in.Incarnation, Numbers: in.Members}}.Check()
	case line.Settings != nil:
		if f.settings != nil {
			return errors.New("the settings are there twice")
		}
		f.settings = line.Settings
		return line.Settings.check()
	case line.Quota != nil:
		f.quotas = append(f.quotas, *line.Quota)
		return line.Quota.Check()
	}
	return nil
}

// check returns the error of settings that no grid has.
func (s exportedSettings) check() error {
	window := clustertime.Span(s.Window)
	return roster.Settings{Name: "any", Partitions: 1, Backups: s.Backups, Window: window, Voters: s.Voters,
		Expect: s.Expect}.Check()
}
