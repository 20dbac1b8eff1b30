package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/definitionflags"
	"github.com/snowgrid/snowgrid/internal/foreign"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

type migrateCommand struct {
	From     string                    `required:"" help:"Generator of the existing IDs: ${generatornames}." enum:"${generators}" placeholder:"GENERATOR"`
	MaxID    string                    `required:"" help:"The largest existing ID." placeholder:"ID"`
	Name     string                    `help:"Name of the sequencer in the printed lines." default:"orders"`
	Parallel bool                      `help:"Let the generator run on while the sequencer begins, on other nodes."`
	OldNodes definitionflags.NodeRange `help:"Nodes that the generator keeps to with --parallel. By default the lower half." placeholder:"LO-HI"`
	formatFlags
	outputFlag
}

// formatFlags are the settings of a generator that was not run with its defaults.
type formatFlags struct {
	OldEpoch *definitionflags.Epoch `help:"Epoch of the generator, if it is not the published one." placeholder:"TIME"`
	OldBits  oldBits                `help:"Widths of its node and its counter, as NODE/COUNTER, if they are not the published ones." placeholder:"NODE/COUNTER"`
	OldUnit  time.Duration          `help:"Unit of its time, if it is not the published one." placeholder:"DURATION"`
}

type oldBits struct{ node, counter int }

// UnmarshalText parses widths such as 10/12.
func (b *oldBits) UnmarshalText(text []byte) error {
	node, counter, ok := strings.Cut(string(text), "/")
	n, err := strconv.Atoi(node)
	c, err2 := strconv.Atoi(counter)
	if !ok || err != nil || err2 != nil {
		return fmt.Errorf("%q are not two widths; give the node bits and the counter bits, as in 10/12", text)
	}
	b.node, b.counter = n, c
	return nil
}

func (s formatFlags) apply(f foreign.Format) (foreign.Format, error) {
	if s.OldBits != (oldBits{}) {
		var err error
		if f, err = f.WithBits(s.OldBits.node, s.OldBits.counter); err != nil {
			return f, err
		}
	}
	if s.OldEpoch != nil {
		f.Epoch = s.OldEpoch.Epoch
	}
	if s.OldUnit != 0 {
		if s.OldUnit < time.Millisecond || s.OldUnit > time.Hour || s.OldUnit%time.Millisecond != 0 {
			return f, fmt.Errorf("a unit of %v is not 1ms to 1h in whole milliseconds", s.OldUnit)
		}
		f.Unit = s.OldUnit
	}
	return f, nil
}

type migration struct {
	From      string               `json:"from"`
	Format    string               `json:"format"`
	MaxID     sequencer.ID         `json:"max_id"`
	MaxTime   time.Time            `json:"max_time"`
	Layout    sequencer.Layout     `json:"layout"`
	Epoch     int64                `json:"epoch"` // Unix ms
	Floor     time.Time            `json:"floor"` // IDs from here on are larger
	FirstID   sequencer.ID         `json:"first_id"`
	Ends      time.Time            `json:"ends"`
	Same      bool                 `json:"same_format"`
	Parallel  bool                 `json:"parallel"`
	NodeRange *sequencer.NodeRange `json:"node_range,omitempty"`
	Go        string               `json:"go"`
	YAML      string               `json:"yaml"`
	HTTP      string               `json:"http"`
	Command   string               `json:"command"`
}

func (m *migrateCommand) Run(to streams) error {
	id, err := sequencer.Parse(m.MaxID)
	if err != nil {
		return badValue("max-id", m.MaxID, "%s", sentence(err))
	}
	format, err := foreign.Find(m.From)
	if err == nil {
		format, err = m.apply(format)
	}
	if err != nil {
		return usage(err)
	}
	plan, err := foreign.Migration(foreign.Request{
		Format: format, Max: id, Now: time.Now(), Parallel: m.Parallel, Nodes: m.OldNodes.NodeRange,
	})
	if err != nil {
		return err
	}
	definition, err := sequencer.Define(m.Name, plan.Config)
	if err != nil {
		return usage(err)
	}
	result := m.lines(definition, format, id, plan)
	if m.json() {
		return m.result(to.out, result, nil)
	}
	return result.print(to.out, m.Name, definition, format, time.Now())
}

// lines returns the plan with the lines that carry it out.
func (m *migrateCommand) lines(d sequencer.Definition, f foreign.Format, id sequencer.ID, plan foreign.Plan) migration {
	cfg := attachment.ShortConfig(d)
	out := migration{
		From: f.Name, Format: f.String(), MaxID: id, MaxTime: f.Decompose(id).Time, Layout: d.Config().Layout,
		Epoch: cfg.Epoch.UnixMilli(), Floor: plan.Floor, FirstID: plan.First, Ends: plan.Last, Same: plan.Same,
		Parallel: plan.Parallel,
	}
	create := map[string]any{"epoch": out.Epoch}
	fields := []string{fmt.Sprintf("Epoch: epoch.UnixMilli(%d)", out.Epoch)}
	flags := []string{fmt.Sprintf("--epoch %v", cfg.Epoch)}
	if l := cfg.Layout; l != (sequencer.Layout{}) {
		create["layout"] = l
		fields = append(fields,
			fmt.Sprintf("Layout: sequencer.Layout{Bits: %d, LowBits: %d, Nodes: %d}", l.Bits, l.LowBits, l.Nodes))
		flags = append(flags, "--layout "+l.String())
	}
	if r := cfg.NodeRange; r != (sequencer.NodeRange{}) {
		out.NodeRange, create["node_range"] = &r, r
		fields = append(fields, fmt.Sprintf("NodeRange: sequencer.NodeRange{Lo: %d, Hi: %d}", r.Lo, r.Hi))
		flags = append(flags, fmt.Sprintf("--node-range %d-%d", r.Lo, r.Hi))
	}
	body, err := json.Marshal(map[string]any{"name": d.Name(), "create": create})
	if err != nil {
		panic("migrate: a map without JSON: " + err.Error())
	}
	out.Go = fmt.Sprintf("CreateSequencer(ctx, %q, sequencer.Config{\n\t%s,\n})", d.Name(), strings.Join(fields, ",\n\t"))
	out.YAML = "floor: " + plan.Floor.Format(millisecondLayout)
	out.HTTP = "POST " + wire.PathIDs + " " + string(body)
	out.Command = fmt.Sprintf("snowgrid next %s %s", shellWord(d.Name()), strings.Join(flags, " "))
	return out
}

// shellWord quotes a word for a shell if it is not plain.
func shellWord(text string) string {
	plain := func(r rune) bool {
		return r == '-' || r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	if strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 && !strings.HasPrefix(text, "-") {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

func (m migration) print(w io.Writer, name string, d sequencer.Definition, f foreign.Format, now time.Time) error {
	last := f.Decompose(m.MaxID)
	err := aligned(w, func(w io.Writer) {
		fmt.Fprintf(w, "generator\t%s: %s\n", m.From, m.Format)
		fmt.Fprintf(w, "largest ID\t%v of %s, node %d, counter %d\n", m.MaxID, m.MaxTime.Format(millisecondLayout),
			last.Node, last.Counter)
		layout := "another than the generator's; new IDs are larger than all of its"
		if m.Same {
			layout = "the generator's, so the same functions read both"
		}
		fmt.Fprintf(w, "layout\t%v: %s\n", m.Layout, layout)
		fmt.Fprintf(w, "epoch\t%v\n", epoch.UnixMilli(m.Epoch))
		nodes := d.Config().NodeRange
		if m.Parallel {
			fmt.Fprintf(w, "nodes\t%d to %d; keep %s to the others, or equal IDs result\n", nodes.Lo, nodes.Hi, m.From)
		} else {
			fmt.Fprintf(w, "nodes\t%d to %d; stop every process of %s first\n", nodes.Lo, nodes.Hi, m.From)
		}
		short := ""
		if m.Ends.Sub(now) < 10*365*24*time.Hour {
			short = "; soon, because the existing IDs are large: plan a new table"
		}
		passed := "passed"
		if m.Floor.After(now) {
			passed = "in the future: create the sequencer after it, or form a new grid with this floor"
		}
		fmt.Fprintf(w, "floor\t%s, from which on all IDs are at least %v (%s)\n", m.Floor.Format(millisecondLayout),
			m.FirstID, passed)
		fmt.Fprintf(w, "ends\t%s%s\n", m.Ends.Format(time.DateOnly), short)
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w,
		"\nIn Go, at a member, client or store:\n\n%s\n\nOver HTTP:\n\n%s\n\nOn the command line:\n\n%s\n\n"+
			"In the configuration of agents that form a new grid (YAML), if %q has no IDs there yet:\n\n%s\n",
		indented(m.Go), indented(m.HTTP), indented(m.Command), name, indented(m.YAML))
	return err
}

// indented returns a text with four more spaces before each line.
func indented(text string) string {
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}
