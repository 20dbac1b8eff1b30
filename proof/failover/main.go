//go:build unix

// Command failover measures how long a new attach waits when a member's process ends or
// is paused. It starts three agents with one backup, and in each round kills or stops
// one of them and creates a sequencer that this one owns, through a client that has
// known the grid before:
//
//	go build -o snowgrid ./cmd/snowgrid && go run -C proof ./failover -agent ./snowgrid -rounds 20
//
// With -cases calm nothing happens to the agents, and busy loops run beside them: see calm.go.
//
// It prints one line for each round, and medians, and fails if a bound is broken (failures.go). To compare
// two commits, build the agent and this program from both, and run them in turn.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"github.com/snowgrid/snowgrid/internal/calls"
	"log"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/loopback"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

var (
	agentPath = flag.String("agent", "./snowgrid", "the agent to start")
	rounds    = flag.Int("rounds", 20, "rounds of each case")
	cases     = flag.String("cases", "owner,leader,stop,stop-leader,roll",
		"what to do: kill an owner that follows, kill the leader that owns, pause an owner that follows, pause the leader "+
			"that owns, restart all in turn; or calm: do nothing")
	calmFor = flag.Duration("calm-for", time.Hour, "how long nothing is done")
	loops   = flag.Int("loops", 4, "busy loops beside agents to which nothing is done")
	verbose = flag.Bool("v", false, "print the logs of the agents")
)

// patience is how long anything may take.
const patience = time.Minute

func main() {
	if os.Getenv(busyVar) != "" {
		spin()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) (err error) {
	todo, err := failuresByName(*cases)
	if err != nil {
		return err
	}
	if *rounds < 1 {
		return fmt.Errorf("failover: -rounds is %d; give 1 or more", *rounds)
	}
	f := &fleet{http: calls.NewPool(calls.TCP, nil)}
	defer func() { err = f.close(err) }()
	if err := f.open(ctx); err != nil {
		return err
	}
	var broken error // bounds
	for _, one := range todo {
		var err, over error
		switch one.name {
		case "roll":
			over, err = f.roll(ctx)
		case "calm":
			over, err = f.calm(ctx)
		default:
			over, err = f.rounds(ctx, one)
		}
		broken = errors.Join(broken, over)
		if err != nil {
			return errors.Join(broken, err)
		}
	}
	return broken
}

// rounds does one thing again and again. over names the bound that is broken.
func (f *fleet) rounds(ctx context.Context, what failure) (over, err error) {
	var took, copies times
	for range *rounds {
		one, err := f.round(ctx, what)
		if err != nil {
			return over, err
		}
		fmt.Printf("%s: attach answered after %v; removed after %v, copies %v later\n", what.name, one.attach, one.removed,
			one.copies)
		took = append(took, one.attach)
		if one.removed > 0 {
			copies = append(copies, one.copies)
		}
	}
	fmt.Printf("RESULT %s, %s: attach %v", what.name, what.what, took)
	over = took.check(what.name+": attach", what.median, what.longest)
	if len(copies) > 0 {
		fmt.Printf("; second copy after the removal %v", copies)
		over = errors.Join(over, copies.check(what.name+": second copy", 0, copiesLongest))
	}
	fmt.Println()
	return over, nil
}

// fleet is three agents.
type fleet struct {
	dir    string
	agents [3]*exec.Cmd
	addrs  []string // of each agent for calls, then for gossip, then for Raft
	http   *calls.Pool
	names  int
}

func (f *fleet) api(i int) string { return f.addrs[i] }

func (f *fleet) open(ctx context.Context) (err error) {
	if f.dir, err = os.MkdirTemp("", "failover"); err != nil {
		return err
	}
	if f.addrs, err = loopback.FreeAddrs(3 * len(f.agents)); err != nil {
		return err
	}
	for i := range f.agents {
		if err := f.start(i); err != nil {
			return err
		}
	}
	return f.awaitSettled(ctx)
}

// start starts one agent. What it logs goes to a file beside its data directory, or to standard error.
func (f *fleet) start(i int) error {
	gossip, raft := f.addrs[len(f.agents):2*len(f.agents)], f.addrs[2*len(f.agents):]
	a := exec.Command(*agentPath, "agent", "--api-addr", f.api(i), "--gossip-addr", gossip[i], "--raft-addr", raft[i],
		"--data-dir", fmt.Sprint(f.dir, "/", i), "--join", strings.Join(gossip, ","), "--expect", "3", "--backups", "1")
	a.Stderr = os.Stderr
	if !*verbose {
		log, err := os.OpenFile(fmt.Sprint(f.dir, "/", i, ".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer func() { _ = log.Close() }() // the agent has it
		a.Stderr = log
	}
	f.agents[i] = a
	return a.Start()
}

// end ends an agent's process.
func (f *fleet) end(i int, how syscall.Signal) {
	_ = f.agents[i].Process.Signal(how) // it may have ended
	_ = f.agents[i].Wait()              // its status does not matter
}

// close ends the agents. After an error their directories and logs stay.
func (f *fleet) close(err error) error {
	for i, a := range f.agents {
		if a != nil && a.Process != nil {
			f.end(i, syscall.SIGKILL)
		}
	}
	if err != nil {
		return fmt.Errorf("%w\nthe agents' directories and logs are in %s", err, f.dir)
	}
	return os.RemoveAll(f.dir)
}

// status returns the view of one agent.
func (f *fleet) status(ctx context.Context, i int) (s grid.Status, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	err = f.http.Call(ctx, f.api(i), wire.PathStatus, wire.StatusRequest{Local: true}, &s)
	return s, err
}

// direct calls agents without the proxy of the environment.
var direct = &http.Client{Transport: &http.Transport{}}

// answers reports whether an agent answers a path with 200.
func (f *fleet) answers(ctx context.Context, i int, path string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+f.api(i)+path, http.NoBody)
	if err != nil {
		return false
	}
	res, err := direct.Do(req)
	if err != nil {
		return false
	}
	return res.Body.Close() == nil && res.StatusCode == http.StatusOK
}

func await(what string, ok func() bool) (time.Duration, error) {
	began := time.Now()
	for !ok() {
		if time.Since(began) > patience {
			return 0, fmt.Errorf("failover: not within %v: %s", patience, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(began), nil
}

// awaitSettled waits until all agents are members, own partitions, and have all replicas.
func (f *fleet) awaitSettled(ctx context.Context) error {
	_, err := await("all agents are settled", func() bool {
		for i := range f.agents {
			s, err := f.status(ctx, i)
			late := func(m grid.MemberInfo) bool { return !m.Settled || m.Partitions == 0 }
			if err != nil || s.Leader == "" || len(s.Members) != len(f.agents) || slices.ContainsFunc(s.Members, late) ||
				!f.answers(ctx, i, "/v1/settled") {
				return false
			}
		}
		return true
	})
	return err
}

// measured is the outcome of one round.
type measured struct {
	attach          time.Duration // from the kill to the answered attach
	removed, copies time.Duration // from the kill to the removal, and from there to the second copies
}

func (f *fleet) round(ctx context.Context, what failure) (out measured, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	s, err := f.status(ctx, 0)
	if err != nil {
		return out, err
	}
	victim := slices.IndexFunc(f.agents[:], func(a *exec.Cmd) bool {
		i := slices.Index(f.agents[:], a)
		m := slices.IndexFunc(s.Members, func(m grid.MemberInfo) bool { return m.API == f.api(i) })
		return m >= 0 && s.Members[m].Leader == what.leads
	})
	if victim < 0 {
		return out, errors.New("failover: no leader is known")
	}
	c, err := client.Dial(ctx, client.Config{Addrs: f.addrs[:len(f.agents)]})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	fresh := f.nameOf(s, victim)
	if what.stops {
		if err := f.agents[victim].Process.Signal(syscall.SIGSTOP); err != nil {
			return out, err
		}
	} else {
		f.end(victim, syscall.SIGKILL)
	}
	began := time.Now()
	q, err := c.CreateSequencer(ctx, fresh, sequencer.Config{})
	if err == nil {
		_, err = q.Next(ctx)
	}
	if err != nil {
		return out, err
	}
	out.attach = time.Since(began).Round(time.Millisecond)
	if what.stops {
		if err := f.agents[victim].Process.Signal(syscall.SIGCONT); err != nil {
			return out, err
		}
		return out, f.awaitSettled(ctx)
	}
	if err := f.awaitCopies(ctx, victim, began, &out); err != nil {
		return out, err
	}
	if err := f.start(victim); err != nil {
		return out, err
	}
	return out, f.awaitSettled(ctx)
}

// nameOf returns a name that no sequencer has had, and that an agent owns.
func (f *fleet) nameOf(s grid.Status, i int) string {
	for {
		f.names++
		name := "name-" + strconv.Itoa(f.names)
		if m := slices.IndexFunc(s.Members,
			func(m grid.MemberInfo) bool { return m.Incarnation == s.OwnerOf(name) }); m >= 0 && s.Members[m].API == f.api(i) {
			return name
		}
	}
}

// awaitCopies waits until a member is removed, and until the others have all copies.
func (f *fleet) awaitCopies(ctx context.Context, victim int, killed time.Time, out *measured) error {
	other := (victim + 1) % len(f.agents)
	if _, err := await("the member is removed", func() bool {
		s, err := f.status(ctx, other)
		return err == nil && len(s.Members) == len(f.agents)-1
	}); err != nil {
		return err
	}
	removed := time.Now()
	out.removed = removed.Sub(killed).Round(time.Millisecond)
	_, err := await("the second copies", func() bool {
		s, err := f.status(ctx, other)
		return err == nil && !slices.ContainsFunc(s.Partitions, func(p grid.PartitionInfo) bool { return len(p.InSync) < 2 })
	})
	out.copies = time.Since(removed).Round(time.Millisecond)
	return err
}

// roll restarts all agents in turn, each as soon as the one before is settled. over names the bound that is
// broken.
func (f *fleet) roll(ctx context.Context) (over, err error) {
	var all times
	for range max(1, *rounds/4) {
		began := time.Now()
		for i := range f.agents {
			f.end(i, syscall.SIGTERM)
			if err := f.start(i); err != nil {
				return over, err
			}
			if err := f.awaitSettled(ctx); err != nil {
				return over, err
			}
		}
		all = append(all, time.Since(began).Round(time.Millisecond))
		fmt.Printf("roll: three agents after %v\n", all[len(all)-1])
	}
	fmt.Printf("RESULT roll: three agents %v\n", all)
	return all.check("roll: three agents", 0, rollLongest), nil
}
