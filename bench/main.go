// Command bench measures snowgrid beside other ID generators, in one process and one
// run, and writes a report with a picture.
//
//	cd bench && go run . -out .
//
// Machines are noisy, so designs take turns in short batches, and what counts are
// medians and ratios of one run. It is a module of its own: nobody who uses snowgrid
// gets the others into go.sum.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

var (
	out     = flag.String("out", ".", "directory for REPORT.md and cost.svg")
	batches = flag.Int("batches", 300, "batches of calls for each generator's cost")
	window  = flag.Duration("window", 300*time.Millisecond, "how long a sustained rate is measured")
	windows = flag.Int("windows", 5, "how many of these windows each rate is the median of")
)

func main() {
	flag.Parse()
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	ours, end, err := snowgrid(ctx)
	if err != nil {
		return err
	}
	defer end()
	others, err := peers()
	if err != nil {
		return err
	}
	all := append(ours, others...)
	fmt.Println("cost of a call below the limit ...")
	spent := costs(all)
	fmt.Println("sustained rates ...")
	reached := rates(all)
	report, err := os.Create(filepath.Join(*out, "REPORT.md"))
	if err != nil {
		return err
	}
	defer func() { _ = report.Close() }()
	write(report, all, spent, reached)
	picture := filepath.Join(*out, "cost.svg")
	if err := os.WriteFile(picture, draw(all, spent), 0o600); err != nil {
		return err
	}
	fmt.Println("wrote", report.Name(), "and", picture)
	return nil
}
