// Command bench compares snowgrid with other ID generators, in one run, and writes a report with
// pictures.
//
//	cd bench && go run . -out .
//	cd bench && go run . -out /tmp -quick -only cost,latency
//
// Machines are noisy, so the candidates take turns, and the results are medians and ratios within
// one run. The servers to compare with, etcd and Redis, are started if they are in PATH, and
// stopped. The command is a separate module, so that the compared modules are not in the go.sum
// files of snowgrid's users.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

var (
	out   = flag.String("out", ".", "directory for REPORT.md and its pictures")
	only  = flag.String("only", "", "sections to run, with commas between them; empty = all of "+names())
	quick = flag.Bool("quick", false, "small samples: shows in less than a minute that everything works, and no more")
)

// section is one part in the report.
type section struct {
	name, title string
	// run measures first and then writes, so a section that fails has written nothing.
	run func(ctx context.Context, b *bench) error
}

func sections() []section {
	return []section{
		{"cost", "Cost of a call far from the limit", measureCosts},
		{"rates", "Throughput", measureRates},
		{"latency", "Latency of a single call", measureLatency},
		{"staleness", "Age of timestamps", measureStaleness},
		{"portable", "Age of timestamps without the cycle counter", measurePortable},
		{"fence", "Cost of a grant's end", measureFence},
		{"steps", "Steps of the wall clock", measureSteps},
		{"control", "Attaching, compared with etcd", measureControl},
		{"security", "Cost of mutual TLS", measureSecurity},
		{"etcd", "Sequencers over etcd, without a grid", measureEtcd},
		{"redis", "Compared with Redis INCR", measureRedis},
	}
}

// titleOf returns a section's title.
func titleOf(name string) string {
	all := sections()
	return all[slices.IndexFunc(all, func(s section) bool { return s.name == name })].title
}

// names returns all sections' names.
func names() string {
	var out []string
	for _, s := range sections() {
		out = append(out, s.name)
	}
	return strings.Join(out, ",")
}

// bench is one run.
type bench struct {
	size   size
	all    []generator
	report *report
}

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	work := run
	if os.Getenv(memberVar) != "" {
		work = beMember
	}
	if err := work(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	picked, err := pick(*only)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(*out, 0o750); err != nil { // before measuring
		return err
	}
	ours, end, err := snowgrid(ctx)
	if err != nil {
		return err
	}
	defer end()
	others, err := peers()
	if err != nil {
		return err
	}
	b := &bench{size: whole, all: slices.Concat(ours, others, floors()), report: newReport()}
	if *quick {
		b.size = small
	}
	failed := b.runAll(ctx, picked)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(failed, b.report.save(*out))
}

// runAll runs the sections in order. A failed section is marked in the report, and the next one
// runs.
func (b *bench) runAll(ctx context.Context, picked []section) error {
	var failed []error
	for _, s := range picked {
		fmt.Println(s.title, "...")
		b.report.p("\n## %s\n\n", s.title)
		err := s.run(ctx, b)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", s.name, err))
			b.report.p("Not measured: there was an error.\n")
		}
	}
	return errors.Join(failed...)
}

// pick returns the listed sections, all for an empty list.
func pick(list string) ([]section, error) {
	if list == "" {
		return sections(), nil
	}
	asked := strings.Split(list, ",")
	var out []section
	for _, s := range sections() {
		if i := slices.Index(asked, s.name); i >= 0 {
			asked = slices.Delete(asked, i, i+1)
			out = append(out, s)
		}
	}
	if len(asked) > 0 {
		return nil, fmt.Errorf("-only: unknown section %q; give some of %s", asked[0], names())
	}
	return out, nil
}
