package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/loopback"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// gridSize is the number of members in a measured grid; etcd has the same number of servers.
const gridSize = 3

// memberConfig returns the configuration for a member in a grid with the given gossip addresses.
func memberConfig(gossip []string, i int) grid.Config {
	cfg := grid.Config{
		Name: "bench", GossipAddr: gossip[i], RaftAddr: "127.0.0.1:0", APIAddr: "127.0.0.1:0",
		Join: gossip, Expect: len(gossip), Backups: 1, FirstLife: true,
	}
	if dir := os.Getenv(securityVar); dir != "" {
		cfg.Security = &security.Config{Dir: dir}
	}
	return cfg
}

// startMembers starts a grid with members in this process, and returns their API addresses.
func startMembers(ctx context.Context) (apis []string, end func(), err error) {
	gossip, err := loopback.FreeAddrs(gridSize)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	members, errs := make([]*grid.Member, gridSize), make([]error, gridSize)
	var starting sync.WaitGroup
	for i := range members {
		starting.Go(func() {
			if members[i], errs[i] = grid.Start(ctx, memberConfig(gossip, i)); errs[i] != nil {
				cancel() // the others would wait for this member until they time out
			}
		})
	}
	starting.Wait()
	end = func() {
		for _, m := range members {
			if m != nil {
				_ = m.Close()
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		end()
		return nil, nil, err
	}
	for _, m := range members {
		apis = append(apis, m.Addrs().API)
	}
	return apis, end, nil
}

// memberVar is the environment variable that makes this program a member: its number, and all
// members' gossip addresses.
const memberVar = "SNOWGRID_BENCH_MEMBER"

// beMember runs a member in its own process. It prints the API address, and stops when its input
// ends, so that it never outlives its parent.
func beMember(ctx context.Context) error {
	var i int
	var gossip string
	if _, err := fmt.Sscan(os.Getenv(memberVar), &i, &gossip); err != nil {
		return fmt.Errorf("%s: %w", memberVar, err)
	}
	starting, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	member, err := grid.Start(starting, memberConfig(strings.Split(gossip, ","), i))
	if err != nil {
		return err
	}
	fmt.Println(member.Addrs().API)
	left := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(left)
	}()
	select {
	case <-left:
	case <-ctx.Done():
	}
	return member.Close()
}

// startMemberProcesses starts a grid with one process per member, with security if secured is a
// directory of certificates.
func startMemberProcesses(ctx context.Context, secured string) (apis []string, end func(), err error) {
	gossip, err := loopback.FreeAddrs(gridSize)
	if err != nil {
		return nil, nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	var started []*process
	var outputs []io.Reader
	end = func() { endAll(started) }
	for i := range gridSize {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", memberVar, i, strings.Join(gossip, ",")),
			securityVar+"="+secured)
		p, output, err := startMemberProcess(cmd)
		if err != nil {
			end()
			return nil, nil, err
		}
		started, outputs = append(started, p), append(outputs, output)
	}
	for i, output := range outputs {
		line, err := bufio.NewReader(output).ReadString('\n')
		if err != nil {
			end()
			return nil, nil, fmt.Errorf("a member did not start: %w: %s", err, started[i].said.text())
		}
		apis = append(apis, strings.TrimSpace(line))
	}
	return apis, end, ctx.Err()
}

func startClearProcesses(ctx context.Context) ([]string, func(), error) {
	return startMemberProcesses(ctx, "")
}

// startMemberProcess starts one member; its input stays open as long as this process runs.
func startMemberProcess(cmd *exec.Cmd) (*process, io.Reader, error) {
	if _, err := cmd.StdinPipe(); err != nil {
		return nil, nil, err
	}
	output, input, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	cmd.Stdout = input
	p, err := startProcess(cmd)
	_ = input.Close() // the member has its own copy
	if err != nil {
		return nil, nil, errors.Join(err, output.Close())
	}
	return p, output, nil
}

// gridKeeper is a grid as seen by handles that attach through one client.
func gridKeeper(ctx context.Context, name string, start func(ctx context.Context) ([]string, func(), error)) (k *keeper,
	err error) {
	apis, end, err := start(ctx)
	if err != nil {
		return nil, err
	}
	c, err := client.Dial(ctx, client.Config{Addrs: apis})
	if err != nil {
		end()
		return nil, err
	}
	g := &gridCalls{client: c, created: make([][]*sequencer.Sequencer, callers)}
	k = &keeper{
		name:     name,
		steps:    []step{{"attach", g.attach}},
		giveBack: g.detach,
		toAndFro: "attach, detach",
		creates:  []step{{"create, attach", g.create}},
		clean:    g.clean,
		end:      func() { _ = c.Close(); end() },
	}
	for i := range callers {
		s, err := c.CreateSequencer(ctx, fmt.Sprintf("held-%d", i), sequencer.Config{})
		if err == nil {
			err = s.DetachLogicalNode(ctx)
		}
		if err != nil {
			k.end()
			return nil, err
		}
		g.held = append(g.held, s)
	}
	return k, nil
}

// gridCalls has a client's calls, by caller.
type gridCalls struct {
	client  *client.Client
	held    []*sequencer.Sequencer
	created [][]*sequencer.Sequencer
}

func (g *gridCalls) attach(ctx context.Context, caller, _ int) error {
	return g.held[caller].AttachLogicalNode(ctx)
}

func (g *gridCalls) detach(ctx context.Context, caller int) error {
	return g.held[caller].DetachLogicalNode(ctx)
}

func (g *gridCalls) create(ctx context.Context, caller, number int) error {
	s, err := g.client.CreateSequencer(ctx, fmt.Sprintf("created-%d-%d", caller, number), sequencer.Config{})
	if err == nil {
		g.created[caller] = append(g.created[caller], s)
	}
	return err
}

// clean destroys a caller's sequencers.
func (g *gridCalls) clean(ctx context.Context, caller int) error {
	for _, s := range g.created[caller] {
		if err := s.Destroy(ctx); err != nil {
			return err
		}
	}
	g.created[caller] = nil
	return nil
}
