package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/loopback"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

const (
	demoMembers = 3
	demoClients = 2
	formTimeout = 60 * time.Second
)

// demoNames lists the demo's sequencers; the demo kills the first one's owner.
var demoNames = []string{"orders", "invoices", "events"}

// demoCommand runs a grid of several members in this process.
type demoCommand struct {
	Plain bool          `help:"Print plain lines, without colours or lines that are overwritten."`
	For   time.Duration `help:"Duration of the demo." default:"20s"`
}

// Validate refuses a demo that is too short to kill a member.
func (d *demoCommand) Validate() error {
	if d.For < 3*time.Second {
		return fmt.Errorf("--for %v: give it at least 3s", d.For)
	}
	return nil
}

// demo is the running grid, its clients and the check of their IDs.
type demo struct {
	screen  *screen
	members []*grid.Member
	clients []*client.Client
	flow    *flow
}

// holder creates sequencers: a member or a client.
type holder interface {
	CreateSequencer(ctx context.Context, name string, cfg sequencer.Config) (*sequencer.Sequencer, error)
}

// Run runs the grid, stops it, and prints the summary.
func (d *demoCommand) Run(ctx context.Context, to streams) error {
	screen := newScreen(to.out, d.Plain)
	flow := newFlow()
	err := d.show(ctx, screen, flow)
	if err != nil && ctx.Err() != nil {
		screen.say("Stopped before the end.")
		err = nil
	}
	verdict := flow.checker.verdict()
	for _, finding := range verdict.findings {
		screen.say("Found: " + finding)
	}
	if err == nil && !verdict.clean() {
		err = fmt.Errorf("%s, %s out of order", counted(int(verdict.duplicates), "duplicate"),
			counted(int(verdict.disorder), "ID"))
	}
	for _, line := range flow.examples() {
		screen.say(line)
	}
	screen.say(flow.summary(verdict))
	if line := flow.aboutLongest(); line != "" {
		screen.say(line)
	}
	screen.say("Try next: snowgrid agent --expect 1 --data-dir ./data, and in another terminal: snowgrid next orders -n " +
		"10, snowgrid status.")
	return err
}

// show runs the grid and the ID streams. It removes the members and their directories before it
// returns.
func (d *demoCommand) show(ctx context.Context, screen *screen, flow *flow) (err error) {
	root, err := os.MkdirTemp("", "snowgrid-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(root)) }()
	running := &demo{screen: screen, flow: flow}
	defer running.stop(ctx)

	if err := running.start(ctx, root); err != nil {
		return err
	}
	if err := running.createSequencers(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, d.For)
	defer cancel()
	flow.run(ctx)
	screen.follow(ctx, flow, d.For/3)
	if ctx.Err() == nil {
		running.loseOwner(ctx)
		screen.follow(ctx, flow, d.For)
	}
	cancel()
	if err := flow.wait(); err != nil {
		return err
	}
	if cause := context.Cause(ctx); errors.Is(cause, context.DeadlineExceeded) {
		return nil
	}
	return ctx.Err()
}

// start forms the grid and connects the clients.
func (d *demo) start(ctx context.Context, root string) error {
	began := time.Now()
	gossip, err := loopback.FreeAddrs(demoMembers)
	if err != nil {
		return err
	}
	d.screen.say(fmt.Sprintf("Starting %d members, which form a grid...", demoMembers))
	ctx, cancel := context.WithTimeout(ctx, formTimeout)
	defer cancel()
	d.members = make([]*grid.Member, demoMembers)
	errs := make([]error, demoMembers)
	var starting sync.WaitGroup
	for i := range d.members {
		starting.Go(func() {
			d.members[i], errs[i] = grid.Start(ctx, grid.Config{
				Name:       "demo",
				GossipAddr: gossip[i], RaftAddr: "127.0.0.1:0", APIAddr: "127.0.0.1:0",
				Join:    gossip,
				Expect:  demoMembers,
				DataDir: filepath.Join(root, "member-"+strconv.Itoa(i+1)),
			})
			if errs[i] != nil {
				cancel() // the others cannot form a grid without this one
			}
		})
	}
	starting.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	d.screen.say(fmt.Sprintf("The grid is ready after %.1fs.", time.Since(began).Seconds()))

	var apis []string
	for _, m := range d.members {
		apis = append(apis, m.Addrs().API)
	}
	for range demoClients {
		c, err := client.Dial(ctx, client.Config{Addrs: apis})
		if err != nil {
			return err
		}
		d.clients = append(d.clients, c)
	}
	return nil
}

// createSequencers creates a handle on every sequencer for every member and client.
func (d *demo) createSequencers(ctx context.Context) error {
	for _, name := range demoNames {
		for i := range demoMembers + demoClients {
			var from holder
			called := memberName(i)
			if i < demoMembers {
				from = d.members[i]
			} else {
				from, called = d.clients[i-demoMembers], "client "+strconv.Itoa(i-demoMembers+1)
			}
			handle, err := from.CreateSequencer(ctx, name, sequencer.Config{})
			if err != nil {
				return fmt.Errorf("%s: create %s: %w", called, name, err)
			}
			d.flow.add(called, handle)
		}
	}
	d.screen.say(fmt.Sprintf(
		"%d members and %d clients share the sequencers %q. Each has its own logical node in each sequencer.",
		len(d.members), len(d.clients), demoNames))
	return nil
}

// loseOwner kills the first sequencer's owner and reports the failover.
func (d *demo) loseOwner(ctx context.Context) {
	name := demoNames[0]
	before, lost := lookUp(name, d.members)
	if lost < 0 {
		d.screen.say("No owner of " + name + " is available at the moment; no member is killed.")
		return
	}
	d.screen.say(fmt.Sprintf("Killing %s, the owner of %s, which assigns its logical nodes. It does not leave the grid; "+
		"its sockets close.", memberName(lost), name))
	d.flow.expectEnd(memberName(lost))
	began := time.Now()
	_ = d.members[lost].Close()
	d.screen.say("Its streams end. All others continue from grants that reach seconds ahead.")
	survivors := slices.Clone(d.members)
	survivors[lost] = nil
	after, heir := d.awaitOwner(ctx, name, survivors)
	if heir < 0 {
		return
	}
	knows := "It was a backup in sync, so it has every attachment."
	if !slices.Contains(before.InSync, after.Owner) {
		knows = "It had no copy, so holders register their attachments with it again."
	}
	d.screen.say(fmt.Sprintf("%.1fs later %s owns %s. %s The new owner's grants do not overlap the old owner's.",
		time.Since(began).Seconds(), memberName(heir), name, knows))
	if !slices.Contains(before.InSync, after.Owner) {
		d.screen.say("The old grants end in about ten seconds. Each holder then waits once, for some seconds, " +
			"until its new grant begins above all earlier grants.")
	}
}

// awaitOwner waits until a survivor owns the sequencer, and updates the screen. It returns -1 if ctx
// ends first.
func (d *demo) awaitOwner(ctx context.Context, name string, survivors []*grid.Member) (grid.PartitionInfo, int) {
	for ctx.Err() == nil {
		if found, heir := lookUp(name, survivors); heir >= 0 {
			return found, heir
		}
		d.screen.follow(ctx, d.flow, 100*time.Millisecond)
	}
	return grid.PartitionInfo{}, -1
}

// lookUp returns a sequencer's partition as reported by the first running member, and the owner's
// index, or -1 if no member owns it.
func lookUp(name string, members []*grid.Member) (found grid.PartitionInfo, owner int) {
	owners := make([]string, len(members))
	for i, m := range members {
		if m == nil {
			continue
		}
		status := m.Status()
		owners[i] = status.Answering
		if found.Owner == "" && len(status.Partitions) > 0 {
			found = status.Partitions[roster.PartitionOf(name, len(status.Partitions))]
		}
	}
	if found.Owner == "" {
		return found, -1
	}
	return found, slices.Index(owners, found.Owner)
}

// stop stops clients and members. It may be called at any time, also after ctx has ended.
func (d *demo) stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	for _, c := range d.clients {
		if c.Leave(ctx) != nil {
			_ = c.Close()
		}
	}
	for _, m := range d.members {
		if m != nil {
			_ = m.Close()
		}
	}
}

func memberName(i int) string { return "member " + strconv.Itoa(i+1) }
