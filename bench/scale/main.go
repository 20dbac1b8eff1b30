// Command scale runs grids with real members and holders in one process, on an in-memory network,
// and measures their cost as they grow.
//
//	cd bench && go run ./scale -out .
//	cd bench && go run ./scale -out . -sequencers "" -attachments "" -holders "" -stored "" -regions ""
//
// The second measures members only; the other sections in SCALE.md stay.
//
// Everything runs on one machine, so the results include a member's cost, but not the speed of a
// hundred machines.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

var (
	out      = flag.String("out", ".", "directory for SCALE.md")
	names    = flag.String("sequencers", "1,1000,10000,100000,1000000", "numbers of sequencers")
	nodes    = flag.String("attachments", "1000,10000,100000", "numbers of attachments, of 100,000 sequencers at most")
	holders  = flag.String("holders", "1,10,100,1000,10000", "numbers of holders, each a client with one handle")
	members  = flag.String("members", "3,5,9,15,30,60,100", "numbers of members")
	regions  = flag.String("regions", "1,20,80,160", "round trips between two regions, in milliseconds")
	stored   = flag.String("stored", "1000,10000,100000,1000000", "numbers of sequencers whose definitions are on disk")
	observed = flag.Duration("observe", 30*time.Second,
		"how long traffic is counted: members exchange everything once in half a minute")
)

func main() {
	flag.Parse()
	// Thousands of processes run as one here, and their garbage is in one heap.
	debug.SetGCPercent(200)
	debug.SetMemoryLimit(16 << 30)
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// experiment is a growing quantity, and the measurement at each size.
type experiment struct {
	title, about string
	sizes        []int
	measure      func(ctx context.Context, size int) (point, error)
	paper        int    // a size to extrapolate the growth to, 0 for none
	after        string // text after the table
}

// experiments returns all experiments, each with its flag's sizes.
func experiments() ([]experiment, error) {
	all := []experiment{
		{title: "Sequencers", about: aboutNames, measure: measureNames},
		{title: "Attachments", about: aboutNodes, measure: measureNodes},
		{title: "Holders", about: aboutHolders, measure: measureHolders},
		{title: "Sequencers on disk", about: aboutDisks, measure: measureDisks},
		{title: "Two regions", about: aboutRegions, measure: measureRegions},
		{title: "Members", about: aboutMembers, measure: measureMembers, paper: 1000, after: breaksFirst},
	}
	for i, list := range []string{*names, *nodes, *holders, *stored, *regions, *members} {
		sizes, err := numbers(list)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", strings.ToLower(all[i].title), err)
		}
		all[i].sizes = sizes
	}
	return all, nil
}

func run(ctx context.Context) error {
	all, err := experiments()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(*out, 0o750); err != nil { // before measuring
		return err
	}
	var results []result
	for _, e := range all {
		r := result{experiment: e}
		for _, size := range e.sizes {
			settle()
			began := time.Now()
			p, err := e.measure(ctx, size)
			if err != nil {
				return fmt.Errorf("%d %s: %w", size, strings.ToLower(e.title), err)
			}
			fmt.Printf("%d %s: %v (%v)\n", size, strings.ToLower(e.title), p.figures, time.Since(began).Round(time.Second))
			r.points = append(r.points, p)
		}
		results = append(results, r)
	}
	path := filepath.Join(*out, "SCALE.md")
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(path, report(results, string(old)), 0o600)
}

// numbers reads a list of sizes.
func numbers(list string) (out []int, err error) {
	for _, text := range strings.Split(list, ",") {
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is not a number of at least 1; give a list such as 1,10,100", text)
		}
		out = append(out, n)
	}
	return out, nil
}
