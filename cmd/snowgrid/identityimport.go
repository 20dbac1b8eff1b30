package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/wire"
)

type identityImportCommand struct {
	Numbers []string `arg:"" optional:"" name:"number" help:"Numbers to restore: 7, a range 1-10, or 7=CODE with the code of its process."`
	File    string   `help:"JSON file with sets, as snowgrid identity list -o json prints them; - for standard input." placeholder:"FILE"`
	Next    uint64   `help:"Least number that the set gives next. It is at least one above the largest restored number, and never goes down."`
	Set     string   `help:"Name of the set. With --file, those of the file."`
	Cluster string   `help:"Cluster of the set. Default: the grid's name."`
	gridOutput
}

// importMax bounds the numbers that one command restores.
const importMax = numbers.MaxNumbered

func (c *identityImportCommand) Run(ctx context.Context, to streams) error {
	if (c.File == "") == (c.Set == "") || c.File != "" && (len(c.Numbers) > 0 || c.Next > 0) || c.Set != "" &&
		len(c.Numbers) == 0 && c.Next == 0 {
		return usage(errors.New("give either --file, or --set with numbers or --next"))
	}
	return c.ask(ctx, func(ctx context.Context) error {
		sets, err := c.sets(ctx)
		if err != nil {
			return err
		}
		results := []imported{}
		for _, s := range sets {
			out, err := c.restore(ctx, s)
			if err != nil {
				return fmt.Errorf("set %s/%s: %w", s.Cluster, s.Name, err)
			}
			results = append(results, imported{Cluster: s.Cluster, Name: s.Name, IdentityImportResponse: out})
		}
		return c.result(to.out, results, func(w io.Writer) {
			for _, r := range results {
				fmt.Fprintf(w, "set %s/%s: %s, the next number is %d\n", r.Cluster, r.Name, processes(r.Members), r.Next)
			}
		})
	})
}

type imported struct {
	Cluster string `json:"cluster"`
	Name    string `json:"name"`
	wire.IdentityImportResponse
}

func (c *identityImportCommand) sets(ctx context.Context) ([]wire.IdentityImportRequest, error) {
	if c.File != "" {
		return readSets(c.File)
	}
	in := wire.IdentityImportRequest{Cluster: c.Cluster, Name: c.Set, Next: c.Next}
	for _, text := range c.Numbers {
		more, err := parseImport(text, importMax-len(in.Members))
		if err != nil {
			return nil, usage(err)
		}
		in.Members = append(in.Members, more...)
	}
	var err error
	in.Cluster, err = setFlags{Cluster: c.Cluster, gridOutput: c.gridOutput}.cluster(ctx)
	return []wire.IdentityImportRequest{in}, err
}

// restore restores a set, in calls with bounded size.
func (c *identityImportCommand) restore(ctx context.Context,
	in wire.IdentityImportRequest) (out wire.IdentityImportResponse, err error) {
	for first := true; first || len(in.Members) > 0; first = false {
		n := min(len(in.Members), wire.MaxNumbers)
		part := in
		part.Members, in.Members = in.Members[:n], in.Members[n:]
		if err := c.identityCall(ctx, wire.PathIdentityImport, part, &out); err != nil {
			return out, err
		}
	}
	return out, nil
}

func readSets(path string) ([]wire.IdentityImportRequest, error) {
	var data []byte
	var err error
	if path == "-" {
		data, err = io.ReadAll(io.LimitReader(os.Stdin, answerBytesMax))
	} else {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, usage(fmt.Errorf("--file %s: %s; give a file as printed by snowgrid identity list -o json",
			path, cause(err)))
	}
	var file struct {
		Sets []wire.IdentityImportRequest `json:"sets"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("--file %s: %w", path, err)
	}
	if len(file.Sets) == 0 {
		return nil, fmt.Errorf("--file %s: it has no sets; give a file as printed by snowgrid identity list -o json", path)
	}
	slices.SortFunc(file.Sets, func(a, b wire.IdentityImportRequest) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Name, b.Name))
	})
	return file.Sets, nil
}

// parseImport reads 7, 1-10 or 7=CODE, at most room numbers.
func parseImport(text string, room int) ([]numbers.Application, error) {
	ids, hex, coded := strings.Cut(text, "=")
	from, to, ranged := strings.Cut(ids, "-")
	if from == "" { // a negative number
		from, ranged = ids, false
	}
	first, err := parseNumber(from)
	if err != nil {
		return nil, err
	}
	last := first
	if ranged {
		if last, err = parseNumber(to); err != nil {
			return nil, err
		}
	}
	switch {
	case coded && ranged:
		return nil, fmt.Errorf("%.80q gives one code to several numbers; give each its own", text)
	case last < first:
		return nil, fmt.Errorf("%.80q is a descending range; give the smaller number first: %d-%d", text, last, first)
	case last-first >= uint64(max(room, 0)):
		return nil, fmt.Errorf("%.80q: give at most %d numbers", text, importMax)
	}
	var out []numbers.Application
	for id := first; id <= last; id++ {
		out = append(out, numbers.Application{ID: id})
	}
	if coded {
		if out[0].Code, err = parseCode(hex); err != nil {
			return nil, err
		}
	}
	return out, nil
}
