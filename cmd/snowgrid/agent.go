package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/grid"
)

// agentCommand runs one member. Its flags are the fields of grid.Config.
type agentCommand struct {
	Name string `help:"Name of the grid. Default: the name in the data directory, or snowgrid." env:"SNOWGRID_NAME" placeholder:"NAME"`

	GossipAddr    string   `help:"Listen address for gossip between members (TCP and UDP)." default:"127.0.0.1:7946" env:"SNOWGRID_GOSSIP_ADDR"`
	RaftAddr      string   `help:"Listen address for Raft (TCP)." default:"127.0.0.1:7947" env:"SNOWGRID_RAFT_ADDR"`
	APIAddr       string   `name:"api-addr" help:"Listen address of the API, for clients and other members (HTTP)." default:"127.0.0.1:7948" env:"SNOWGRID_API_ADDR"`
	AdvertiseHost string   `help:"Host by which other members reach this one, if it differs from the listen address." env:"SNOWGRID_ADVERTISE_HOST" placeholder:"HOST"`
	Join          []string `help:"Gossip addresses or DNS names of other members." env:"SNOWGRID_JOIN" placeholder:"HOST:PORT"`
	Expect        int      `help:"Number of members that form a new grid. Omit it to join an existing grid." env:"SNOWGRID_EXPECT" placeholder:"COUNT"`

	Backups    *int          `help:"Backups of each partition: 0 for none, 1 to 32767. Default: the grid's setting, or 1." env:"SNOWGRID_BACKUPS" placeholder:"COUNT"`
	Partitions int           `help:"Number of partitions. Default: the grid's setting, or 271." env:"SNOWGRID_PARTITIONS" placeholder:"COUNT"`
	Window     time.Duration `help:"Distance of the ceiling ahead of cluster time. Default: the grid's setting, or 15s." env:"SNOWGRID_WINDOW" placeholder:"DURATION"`

	DataDir string `help:"Directory for identity, Raft log and definitions. Default: none, memory only." env:"SNOWGRID_DATA_DIR" placeholder:"DIR"`
	floorFlags
	Anchor      string        `help:"Store of the record that limits the grid's ceiling, for all members the same: file:DIR. Lives of the grid that know nothing of each other wait for one another then. Default: none." env:"SNOWGRID_ANCHOR" placeholder:"file:DIR"`
	AnchorAhead time.Duration `help:"Distance of the anchor's limit ahead of cluster time. Default: 30s, or two windows." env:"SNOWGRID_ANCHOR_AHEAD" placeholder:"DURATION"`

	LeaveTimeout time.Duration `help:"Time limit for leaving the grid after the first signal." default:"30s" env:"SNOWGRID_LEAVE_TIMEOUT"`
	LogLevel     slog.Level    `help:"Lowest level that is logged: debug, info, warn or error." default:"info" env:"SNOWGRID_LOG_LEVEL"`
	LogFormat    string        `help:"Log format: text or json." enum:"text,json" default:"text" env:"SNOWGRID_LOG_FORMAT"`
}

// Help returns the part of --help between the usage and the flags.
func (agentCommand) Help() string {
	return `The agent runs until SIGTERM or Ctrl-C, then hands its partitions over and leaves the grid. A second signal
terminates it immediately. The log is written to stderr; stdout gets one line when the member is ready.

A grid of one member, for development:

    snowgrid agent --expect 1 --data-dir ./data

A grid of three members; run the same on each host, with its own addresses:

    snowgrid agent --gossip-addr 10.0.0.1:7946 --raft-addr 10.0.0.1:7947 --api-addr 10.0.0.1:7948 \
        --join 10.0.0.1:7946,10.0.0.2:7946,10.0.0.3:7946 --expect 3 --data-dir /var/lib/snowgrid

A new grid whose IDs begin above the largest ID in your database. --floor never makes a grid begin earlier,
so it can remain in the configuration:

    snowgrid agent --expect 1 --data-dir ./data --floor 7301444403200000 --epoch 2026-01-01

A grid without data directories begins each run with a wait of the window and 5 s, so that its IDs are
above those of an earlier run. This is not enough, and IDs can repeat, if the earlier run had a larger
window, or if its clocks were ahead of the present ones within the last hours (see "ahead" in snowgrid
status). The first start with --data-dir does not know of an earlier run without it either. In these
cases stop every process of the earlier run first, or set --floor. A copied data directory, and a process
that was copied while it ran (a machine snapshot, CRIU), issue the same IDs as the original.`
}

// Run serves until ctx ends, then leaves.
func (a *agentCommand) Run(ctx context.Context, to streams) error {
	logger := a.logger(to)
	cfg, err := a.config(logger)
	if err != nil {
		return err
	}
	logger.InfoContext(ctx, "member starting", "stated_name", cfg.Name, "data_dir", cfg.DataDir)
	logger.InfoContext(ctx, "waiting for the grid", "for", a.waitsFor(), "expect", cfg.Expect, "join", cfg.Join)
	member, err := grid.Start(ctx, cfg)
	if err != nil {
		if ctx.Err() != nil {
			logger.InfoContext(context.WithoutCancel(ctx), "start cancelled", "error", err)
			return nil
		}
		return err
	}
	addrs := member.Addrs()
	fmt.Fprintf(to.out, "serving grid %s: api %s, gossip %s, raft %s\n", member.Status().Name, addrs.API, addrs.Gossip, addrs.Raft)
	<-ctx.Done()
	return a.leave(context.WithoutCancel(ctx), member, logger)
}

// leave leaves the grid, or closes the member abruptly after the time limit.
func (a *agentCommand) leave(ctx context.Context, member *grid.Member, logger *slog.Logger) error {
	logger.InfoContext(ctx, "member leaving", "timeout", a.LeaveTimeout)
	ctx, cancel := context.WithTimeout(ctx, a.LeaveTimeout)
	defer cancel()
	if err := member.Leave(ctx); err != nil {
		_ = member.Close()
		return fmt.Errorf("the member ended without leaving the grid cleanly; the other members take over its partitions: %w", err)
	}
	logger.InfoContext(ctx, "member left")
	return nil
}

// waitsFor describes the condition for this member to become ready.
func (a *agentCommand) waitsFor() string {
	switch {
	case a.Expect > 1:
		return "the expected number of members, or a running grid"
	case len(a.Join) > 0:
		return "a running grid at the join addresses"
	}
	return "no other member"
}

func (a *agentCommand) logger(to streams) *slog.Logger {
	options := &slog.HandlerOptions{Level: a.LogLevel}
	if a.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(to.err, options))
	}
	return slog.New(slog.NewTextHandler(to.err, options))
}

// config returns the member's configuration.
func (a *agentCommand) config(logger *slog.Logger) (grid.Config, error) {
	floor, err := a.floor()
	if err != nil {
		return grid.Config{}, err
	}
	anchor, err := a.anchor()
	if err != nil {
		return grid.Config{}, err
	}
	cfg := grid.Config{
		Anchor:      anchor,
		AnchorAhead: a.AnchorAhead,
		Name:        a.Name,
		GossipAddr:  a.GossipAddr, RaftAddr: a.RaftAddr, APIAddr: a.APIAddr,
		AdvertiseHost: a.AdvertiseHost,
		Join:          a.Join,
		Expect:        a.Expect,
		Backups:       a.backups(),
		Partitions:    a.Partitions,
		Window:        a.Window,
		DataDir:       a.DataDir,
		Floor:         floor,
		Logger:        logger,
	}
	return cfg, nil
}

// anchor opens the store of the anchor, nil for none.
func (a *agentCommand) anchor() (store.Store, error) {
	dir, isFile := strings.CutPrefix(a.Anchor, "file:")
	switch {
	case a.Anchor == "":
		return nil, nil
	case !isFile || dir == "":
		return nil, fmt.Errorf("--anchor=%s: give file:DIR; other stores are set by a program that embeds a member (grid.Config.Anchor)", a.Anchor)
	}
	s, err := store.OpenFile(dir)
	if err != nil {
		return nil, fmt.Errorf("--anchor=%s: %w", a.Anchor, err)
	}
	return s, nil
}

// Validate refuses a number of backups out of range. On the command line 0 means none
// and an absent flag means unset, so a negative number is a mistake.
func (a *agentCommand) Validate() error {
	if a.Backups != nil && (*a.Backups < 0 || *a.Backups > grid.MaxBackups) {
		return fmt.Errorf("--backups=%d: give 0 for none, 1 to %d for as many backups, or omit the flag to use the grid's setting",
			*a.Backups, grid.MaxBackups)
	}
	return nil
}

// backups returns the flag as grid.Config has it, where 0 is unset.
func (a *agentCommand) backups() int {
	switch {
	case a.Backups == nil:
		return 0
	case *a.Backups == 0:
		return grid.NoBackups
	}
	return *a.Backups
}
