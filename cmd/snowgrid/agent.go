package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/snowgrid/snowgrid/grid"
)

// agentCommand runs one member. Its flags are the fields of grid.Config.
type agentCommand struct {
	Name string `help:"Name of the grid. Left out: the data directory's, or snowgrid." env:"SNOWGRID_NAME" placeholder:"NAME"`

	GossipAddr    string   `help:"Where members find each other (TCP and UDP)." default:"127.0.0.1:7946" env:"SNOWGRID_GOSSIP_ADDR"`
	RaftAddr      string   `help:"Where members agree (TCP)." default:"127.0.0.1:7947" env:"SNOWGRID_RAFT_ADDR"`
	APIAddr       string   `name:"api-addr" help:"Where clients and other members ask (HTTP)." default:"127.0.0.1:7948" env:"SNOWGRID_API_ADDR"`
	AdvertiseHost string   `help:"Host that the others reach this member by, when it is not the one it listens on." env:"SNOWGRID_ADVERTISE_HOST" placeholder:"HOST"`
	Join          []string `help:"Gossip addresses, or DNS names, of other members." env:"SNOWGRID_JOIN" placeholder:"HOST:PORT"`
	Expect        int      `help:"Members that form a new grid together. Leave it out to join one that exists." env:"SNOWGRID_EXPECT" placeholder:"COUNT"`

	Backups    *int          `help:"Copies of each partition besides the owner's: 0 for none, 1 to 32767. Left out: the grid's, or 1." env:"SNOWGRID_BACKUPS" placeholder:"COUNT"`
	Partitions int           `help:"Slices of the sequencer names. Left out: the grid's, or 271." env:"SNOWGRID_PARTITIONS" placeholder:"COUNT"`
	Window     time.Duration `help:"How far grants run ahead of time. Left out: the grid's, or 15s." env:"SNOWGRID_WINDOW" placeholder:"DURATION"`

	DataDir string `help:"Directory for what the members agree on. Left out: memory only." env:"SNOWGRID_DATA_DIR" placeholder:"DIR"`
	floorFlags

	LeaveTimeout time.Duration `help:"How long an orderly end may take." default:"30s" env:"SNOWGRID_LEAVE_TIMEOUT"`
	LogLevel     slog.Level    `help:"debug, info, warn or error." default:"info" env:"SNOWGRID_LOG_LEVEL"`
	LogFormat    string        `help:"text or json." enum:"text,json" default:"text" env:"SNOWGRID_LOG_FORMAT"`
}

// Help is the part of --help between the usage and the flags.
func (agentCommand) Help() string {
	return `It serves until SIGTERM or Ctrl-C, then hands over what it is responsible for and leaves. A second
signal ends it at once. The log goes to stderr; stdout gets one line, once the member serves.

A grid of one, for development:

    snowgrid agent --expect 1 --data-dir ./data

A grid of three; the same on each host, with that host's own address:

    snowgrid agent --gossip-addr 10.0.0.1:7946 --raft-addr 10.0.0.1:7947 --api-addr 10.0.0.1:7948 \
        --join 10.0.0.1:7946,10.0.0.2:7946,10.0.0.3:7946 --expect 3 --data-dir /var/lib/snowgrid

A new grid that begins above the largest ID in the database. It begins no earlier than without
--floor, which may therefore stay in a configuration:

    snowgrid agent --expect 1 --data-dir ./data --floor 7301444403200000 --epoch 2026-01-01

A grid without data directories begins with a wait of the window and 5 s each time, above what an
earlier life can have issued. That is not enough, and IDs may repeat, if the earlier life had a larger
window, or ran within the last hours under clocks that were ahead of those of now: see "ahead" in
snowgrid status. Nor does the first start with --data-dir know of an earlier life without. Stop every
process of the earlier life first, or state a floor. A data directory that was copied, and a process
that was copied while it ran (a snapshot of its machine, CRIU), issue the same IDs as the original.`
}

// Run serves until ctx ends, then leaves.
func (a *agentCommand) Run(ctx context.Context, to streams) error {
	logger := a.logger(to)
	cfg, err := a.config(logger)
	if err != nil {
		return err
	}
	logger.InfoContext(ctx, "starting", "stated_name", cfg.Name, "data_dir", cfg.DataDir)
	logger.InfoContext(ctx, "waiting", "for", a.waitsFor(), "expect", cfg.Expect, "join", cfg.Join)
	member, err := grid.Start(ctx, cfg)
	if err != nil {
		if ctx.Err() != nil {
			logger.InfoContext(context.WithoutCancel(ctx), "stopped before the grid served", "error", err)
			return nil
		}
		return err
	}
	addrs := member.Addrs()
	fmt.Fprintf(to.out, "serving grid %s: api %s, gossip %s, raft %s\n", member.Status().Name, addrs.API, addrs.Gossip, addrs.Raft)
	<-ctx.Done()
	return a.leave(context.WithoutCancel(ctx), member, logger)
}

// leave ends the member in order, or abruptly when that takes too long.
func (a *agentCommand) leave(ctx context.Context, member *grid.Member, logger *slog.Logger) error {
	logger.InfoContext(ctx, "leaving", "timeout", a.LeaveTimeout)
	ctx, cancel := context.WithTimeout(ctx, a.LeaveTimeout)
	defer cancel()
	if err := member.Leave(ctx); err != nil {
		_ = member.Close() // whatever of it is left
		return fmt.Errorf("ended without leaving in order; the other members will take over: %w", err)
	}
	logger.InfoContext(ctx, "left")
	return nil
}

// waitsFor says what has to happen before this member serves.
func (a *agentCommand) waitsFor() string {
	switch {
	case a.Expect > 1:
		return "as many members as expected to find each other, or a running grid"
	case len(a.Join) > 0:
		return "a running grid at the addresses to join"
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
	cfg := grid.Config{
		Name:       a.Name,
		GossipAddr: a.GossipAddr, RaftAddr: a.RaftAddr, APIAddr: a.APIAddr,
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

// Validate refuses numbers of backups that cannot be meant: on the command line 0 is
// none and nothing is unset, so a negative one is a mistake.
func (a *agentCommand) Validate() error {
	if a.Backups != nil && (*a.Backups < 0 || *a.Backups > grid.MaxBackups) {
		return fmt.Errorf("--backups=%d: give --backups=0 for none, a number from 1 to %d for as many copies, or leave the flag out for the grid's",
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
