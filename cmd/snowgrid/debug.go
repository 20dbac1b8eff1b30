package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/buildinfo"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// debugCommands are about a grid or an agent in trouble.
type debugCommands struct {
	Bundle bundleCommand `cmd:"" help:"Collect the state of a grid and of its agents in one file."`
}

type bundleCommand struct {
	File    string        `short:"f" help:"File to write. Default: snowgrid-bundle-TIME.tar.gz." placeholder:"FILE"`
	OpsAddr []string      `help:"Ops listeners of agents on this machine (agent --ops-addr with --pprof), for their log, configuration and profiles." default:"127.0.0.1:7949" env:"SNOWGRID_OPS_ADDR" placeholder:"HOST:PORT"`
	Profile time.Duration `help:"Duration of the CPU profile; 0 for none." default:"5s"`
	gridOutput
}

// Validate refuses a profile that the ops listener would cut off.
func (c *bundleCommand) Validate() error {
	if c.Profile < 0 || c.Profile > time.Minute || c.Profile > 0 && c.Profile < time.Second {
		return fmt.Errorf("--profile=%v: give 1s to 1m, or 0 for none", c.Profile)
	}
	return nil
}

type bundleResult struct {
	File     string          `json:"file"`
	Files    int             `json:"files"`    // in the bundle, without the manifest
	Problems []bundleProblem `json:"problems"` // items that could not be collected
}

func (c *bundleCommand) Run(ctx context.Context, to streams) error {
	now := time.Now().UTC()
	name := cmp.Or(c.File, "snowgrid-bundle-"+now.Format("20060102T150405Z")+".tar.gz")
	b, err := createBundle(name, bundleManifest{Created: now, Build: buildinfo.Read().Short(), Addrs: c.Addr,
		OpsAddrs: c.OpsAddr})
	if err != nil {
		return err
	}
	ctx, err = c.reach(ctx)
	if err != nil {
		return err
	}
	work := &collection{bundle: b, to: to.err, limit: c.Timeout}
	work.members(ctx, c.Addr)
	for _, addr := range c.OpsAddr {
		work.agent(ctx, addr, c.Profile)
	}
	if err := errors.Join(work.failed, b.close()); err != nil {
		return fmt.Errorf("%s is not complete: %w", name, err)
	}
	result := bundleResult{File: name, Files: len(b.manifest.Files), Problems: b.manifest.Problems}
	err = c.line(to.out, result, "%s: %s, %s%s", name, counted(result.Files, "file"),
		counted(len(result.Problems), "problem"), unless(len(result.Problems) == 0, ", see its manifest.json"))
	if err == nil && result.Files == 0 {
		return &exitError{status: exitUnreachable,
			err: fmt.Errorf("nothing was collected: no member or agent answers; check --addr and --ops-addr")}
	}
	if err == nil && len(result.Problems) > 0 {
		return degraded("%s lacks %s, which its manifest.json names; send it as it is, or repeat with addresses that answer",
			name, counted(len(result.Problems), "item"))
	}
	return err
}

// collection collects a bundle's files and prints progress.
type collection struct {
	bundle *bundleFile
	to     io.Writer     // for progress
	limit  time.Duration // for one answer
	failed error         // from the bundle's file
}

// take collects one item into a file. A failure is recorded in the manifest.
func (c *collection) take(ctx context.Context, what, name string, limit time.Duration,
	read func(context.Context) ([]byte, error)) {
	asking, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	data, err := read(asking)
	if err != nil {
		c.bundle.lacks(what, err)
		fmt.Fprintf(c.to, "%s: %s\n", what, sentence(err))
		return
	}
	fmt.Fprintf(c.to, "%s: %s bytes\n", what, grouped(uint64(len(data))))
	c.failed = errors.Join(c.failed, c.bundle.add(name, data))
}

// members collects the status of each member at the addresses, and of each member listed in such a
// status.
func (c *collection) members(ctx context.Context, addrs []string) {
	addrs = slices.Clone(addrs)
	names := map[string]string{} // by address
	alerts := map[string][]grid.Alert{}
	for i := 0; i < len(addrs) && i < wire.MaxMembers; i++ { // addrs grows
		addr := addrs[i]
		dir := path.Join("members", fileName(names[addr]+"_"+addr))
		var status grid.Status
		c.take(ctx, "status of "+addr, path.Join(dir, "status.json"), c.limit,
			func(ctx context.Context) (data []byte, err error) {
				if data, err = read(ctx, addr, wire.PathStatus); err == nil {
					err = json.Unmarshal(data, &status)
				}
				return data, err
			})
		if status.Answering == "" {
			continue
		}
		c.take(ctx, "readiness of "+addr, path.Join(dir, "readyz.txt"), c.limit,
			func(ctx context.Context) ([]byte, error) { return read(ctx, addr, "/readyz?verbose") })
		alerts[addr] = grid.Alerts(status)
		for _, m := range status.Members {
			if names[m.API] = m.Name; m.API != "" && !slices.Contains(addrs, m.API) &&
				m.Incarnation != status.Answering {
				addrs = append(addrs, m.API)
			}
		}
	}
	if len(alerts) > 0 {
		c.failed = errors.Join(c.failed, c.bundle.addJSON("alerts.json", alerts))
	}
}

// agent collects the pages from an agent's ops listener.
func (c *collection) agent(ctx context.Context, addr string, profile time.Duration) {
	dir := path.Join("agents", fileName(addr))
	pages := []struct{ what, file, path string }{
		{"log", "log.txt", "/debug/log"}, {"configuration", "config.json", "/debug/config"},
		{"build", "build.txt", "/debug/build"},
		{"metrics", "metrics.txt", "/metrics"}, {"goroutines", "goroutines.txt", "/debug/pprof/goroutine?debug=2"},
		{"memory", "heap.pprof", "/debug/pprof/heap"},
	}
	for _, p := range pages {
		c.take(ctx, p.what+" of "+addr, path.Join(dir, p.file), c.limit,
			func(ctx context.Context) ([]byte, error) { return readOps(ctx, addr, p.path) })
	}
	if seconds := int(profile.Seconds()); seconds > 0 {
		c.take(ctx, fmt.Sprintf("processor time for %s, %v", addr, profile), path.Join(dir, "cpu.pprof"), c.limit+profile,
			func(ctx context.Context) ([]byte, error) {
				return readOps(ctx, addr, fmt.Sprintf("/debug/pprof/profile?seconds=%d", seconds))
			})
	}
}

// foul matches the characters that have no place in a file's name.
var foul = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

func fileName(text string) string { return strings.TrimLeft(foul.ReplaceAllString(text, "_"), "._") }

func readOps(ctx context.Context, addr, page string) ([]byte, error) {
	data, err := read(withAccess(ctx, clearText), addr, page)
	var unexpected *httpStatusError
	switch {
	case errors.Is(err, errNoMember):
		return nil, fmt.Errorf("no ops listener answers at %s; start the agent with --ops-addr=%s --pprof", addr, addr)
	case errors.As(err, &unexpected) && unexpected.code == http.StatusNotFound:
		return nil, fmt.Errorf("%s is not served at %s; start the agent with --pprof", page, addr)
	}
	return data, err
}

type httpStatusError struct {
	code int
	text string
}

func (e *httpStatusError) Error() string { return "HTTP status " + e.text }

// read fetches a page from a member or ops listener. The readiness page counts even with an error
// status.
func read(ctx context.Context, addr, page string) ([]byte, error) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, fmt.Errorf("address %q is not host:port", addr)
	}
	response, data, err := exchange(ctx, http.MethodGet, addr, page, http.Header{}, nil)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK && (response.StatusCode != http.StatusServiceUnavailable ||
		page != "/readyz?verbose") {
		return nil, &httpStatusError{response.StatusCode, response.Status}
	}
	return data, nil
}
