// Command bench measures snowgrid beside other ID generators, in one run, and writes
// a report with pictures.
//
//	cd bench && go run . -out .
//	cd bench && go run . -out /tmp -quick -only cost,latency
//
// Machines are noisy, so the candidates take turns, and the results are medians and
// ratios of one run. Servers to compare with, etcd and Redis, are started
// when they are in PATH, and stopped. It is a module of its own, so that the compared
// modules are not in the go.sum of snowgrid's users.
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

// section is one part of the report.
type section struct {
	name, title string
	// run measures first and writes then, so a section that fails has written nothing.
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

// names are those of all sections.
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
	if err := os.MkdirAll(*out, 0o750); err != nil { // now, not when all is measured
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

// runAll runs sections one after the other. A failed one is marked in the report, and
// the next one runs.
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

// pick returns the sections that a list names, all for an empty one.
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
