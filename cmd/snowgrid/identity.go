package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// identityCommand has the commands for the persistent numbers of processes.
type identityCommand struct {
	List     identityListCommand     `cmd:"" help:"List sets, or the numbered processes of one."`
	Next     identityNextCommand     `cmd:"" help:"Print the number that a set gives next."`
	Apply    identityApplyCommand    `cmd:"" help:"Apply for a number, as a process does."`
	Register identityRegisterCommand `cmd:"" help:"Register a process with its number, as a process does at each start."`
	Clean    identityCleanCommand    `cmd:"" help:"Remove the numbers of processes that are gone for good."`
	Drop     identityDropCommand     `cmd:"" help:"Remove a set that has no numbers any longer, to make room."`
	Import   identityImportCommand   `cmd:"" help:"Restore numbers that the grid lost with its data."`
}

type setFlags struct {
	Set     string `required:"" help:"Name of the set."`
	Cluster string `help:"Cluster of the set. Default: the grid's name."`
	gridOutput
}

func (f setFlags) cluster(ctx context.Context) (string, error) {
	if f.Cluster != "" {
		return f.Cluster, nil
	}
	status, _, err := fetchStatusOfAny(ctx, f.Addr)
	return status.Name, err
}

// identityCall calls the first member that replies. It tries the next one only on a temporary error.
func (g gridFlags) identityCall(ctx context.Context, path string, in, out any) error {
	var refused error
	_, err := eachUntilAnswered(ctx, g.Addr, func(ctx context.Context, addr string) error {
		err := postTo(ctx, addr, "", path, in, out)
		if unanswered := (*notAnsweredError)(nil); err != nil && !errors.As(err, &unanswered) &&
			!errors.Is(err, sequencer.ErrUnavailable) {
			refused = err
			return nil
		}
		return err
	})
	return errors.Join(err, refused)
}

// call makes a call of the set that the flags name; in returns the request.
func (f setFlags) call(ctx context.Context, path string, in func(cluster string) any, out any) error {
	return f.ask(ctx, func(ctx context.Context) error {
		cluster, err := f.cluster(ctx)
		if err != nil {
			return err
		}
		return f.identityCall(ctx, path, in(cluster), out)
	})
}

// callSet makes a call of the set that the flags name, and prints the reply.
func callSet[Out any](ctx context.Context, to streams, f setFlags, path string, in func(cluster string) any,
	text func(Out) string) error {
	var out Out
	if err := f.call(ctx, path, in, &out); err != nil {
		return err
	}
	return f.line(to.out, out, "%s", text(out))
}

type identityListCommand struct {
	Set     string `help:"Name of one set, to list its processes."`
	Cluster string `help:"Cluster of the sets. Default: all, and with --set the grid's name."`
	gridOutput
}

func (c *identityListCommand) Run(ctx context.Context, to streams) error {
	var out wire.IdentityListResponse
	err := c.ask(ctx, func(ctx context.Context) (err error) {
		if c.Set != "" && c.Cluster == "" {
			if c.Cluster, err = (setFlags{gridOutput: c.gridOutput}).cluster(ctx); err != nil {
				return err
			}
		}
		out, err = c.sets(ctx)
		return err
	})
	if err != nil {
		return asking(err)
	}
	return c.result(to.out, out, func(w io.Writer) {
		if c.Set != "" {
			writeNumbered(w, out.Sets[0])
			return
		}
		fmt.Fprintln(w, "CLUSTER\tSET\tNEXT\tPROCESSES")
		for _, s := range out.Sets {
			fmt.Fprintf(w, "%s\t%s\t%d\t%d\n", s.Cluster, s.Name, s.Next, s.Count)
		}
	})
}

// sets returns the sets, with their processes if requested.
func (c *identityListCommand) sets(ctx context.Context) (out wire.IdentityListResponse, err error) {
	in := wire.IdentityListRequest{Cluster: c.Cluster, Name: c.Set}
	if err := c.identityCall(ctx, wire.PathIdentity, in, &out); err != nil {
		return out, err
	}
	for i := range out.Sets {
		s := &out.Sets[i]
		for more := s.More || c.Set == "" && c.json() && s.Count > 0; more; {
			in := wire.IdentityListRequest{Cluster: s.Cluster, Name: s.Name}
			if n := len(s.Members); n > 0 {
				in.After = s.Members[n-1].ID
			}
			var page wire.IdentityListResponse
			if err := c.identityCall(ctx, wire.PathIdentity, in, &page); err != nil {
				return out, err
			}
			s.Members = append(s.Members, page.Sets[0].Members...)
			more = page.Sets[0].More && len(page.Sets[0].Members) > 0
		}
		s.More = false
	}
	return out, nil
}

func writeNumbered(w io.Writer, s wire.IdentitySet) {
	fmt.Fprintf(w, "set %s/%s: %s, the next number is %d\n", s.Cluster, s.Name, processes(s.Count), s.Next)
	fmt.Fprintln(w, "NUMBER\tADDRESS\tINCARNATION\tSTATE\tALIVE\tMEMBER")
	for _, m := range s.Members {
		alive := "unknown"
		if m.Alive != nil {
			alive = map[bool]string{true: "yes", false: "no"}[*m.Alive]
		}
		member := string(m.Member)
		if m.Role != "" {
			member += " (" + m.Role + ")"
		}
		fmt.Fprintf(w, "%d\t%s\t%d\t%s\t%s\t%s\n", m.ID, orNone(m.Addr), m.Incarnation, m.State, alive, orNone(member))
	}
}

type identityNextCommand struct{ setFlags }

func (c *identityNextCommand) Run(ctx context.Context, to streams) error {
	return callSet(ctx, to, c.setFlags, wire.PathIdentityNext,
		func(cluster string) any { return wire.IdentityNextRequest{Cluster: cluster, Name: c.Set} },
		func(out wire.IdentityNextResponse) string { return fmt.Sprint(out.Next) })
}

type identityApplyCommand struct {
	ID          uint64 `arg:"" name:"number" help:"Number to apply for, as snowgrid identity next prints it."`
	Code        string `help:"Register code: 32 hex digits that the process keeps. Default: a random one, which is printed." placeholder:"HEX"`
	ProcessAddr string `help:"Address of the process, for the list." placeholder:"ADDR"`
	setFlags
}

type applied struct {
	ID   uint64       `json:"id"`
	Code numbers.Code `json:"code"`
	Next uint64       `json:"next"`
}

func (c *identityApplyCommand) Run(ctx context.Context, to streams) (err error) {
	var code numbers.Code
	if c.Code == "" {
		_, _ = rand.Read(code[:]) // never fails
	} else if code, err = parseCode(c.Code); err != nil {
		return err
	}
	var out wire.IdentityApplyResponse
	err = c.call(ctx, wire.PathIdentityApply, func(cluster string) any {
		return wire.IdentityApplyRequest{Cluster: cluster, Name: c.Set, ID: c.ID, Code: code, Addr: c.ProcessAddr}
	}, &out)
	if err != nil {
		return err
	}
	return c.line(to.out, applied{out.ID, code, out.Next}, "number %d with code %s", out.ID, code)
}

type identityRegisterCommand struct {
	ID          uint64 `arg:"" name:"number" help:"Number of the process."`
	Code        string `required:"" help:"Register code of the number: 32 hex digits." placeholder:"HEX"`
	ProcessAddr string `help:"Address of the process, for the list." placeholder:"ADDR"`
	Incarnation uint64 `help:"Incarnation from an earlier registration of the same process: shows that it is still alive. Default: a new start, which fences every earlier one."`
	setFlags
}

func (c *identityRegisterCommand) Run(ctx context.Context, to streams) error {
	code, err := parseCode(c.Code)
	if err != nil {
		return err
	}
	return callSet(ctx, to, c.setFlags, wire.PathIdentityRegister, func(cluster string) any {
		return wire.IdentityRegisterRequest{
			Cluster: cluster, Name: c.Set, ID: c.ID, Code: code, Addr: c.ProcessAddr, Incarnation: c.Incarnation,
			Protocol: int(roster.CurrentProtocol),
		}
	}, func(out wire.IdentityRegisterResponse) string { return fmt.Sprintf("incarnation %d", out.Incarnation) })
}

type identityCleanCommand struct {
	IDs   []uint64 `arg:"" name:"number" help:"Numbers to remove."`
	Force bool     `help:"Also remove the numbers of processes that are alive: they get no new grants, and their next start fails."`
	setFlags
}

func (c *identityCleanCommand) Run(ctx context.Context, to streams) error {
	return callSet(ctx, to, c.setFlags, wire.PathIdentityClean, func(cluster string) any {
		return wire.IdentityCleanRequest{Cluster: cluster, Name: c.Set, IDs: c.IDs, Force: c.Force}
	}, func(out wire.IdentityCleanResponse) string {
		return fmt.Sprintf("removed %d of %s", len(out.Removed), counted(len(c.IDs), "number"))
	})
}

type identityDropCommand struct {
	setFlags
}

func (c *identityDropCommand) Run(ctx context.Context, to streams) error {
	return callSet(ctx, to, c.setFlags, wire.PathIdentityDrop,
		func(cluster string) any { return wire.IdentityDropRequest{Cluster: cluster, Name: c.Set} },
		func(out wire.IdentityDropResponse) string {
			return fmt.Sprintf("set %s is removed; a new set with this name continues with %d", c.Set, out.Next)
		})
}

func parseCode(text string) (code numbers.Code, err error) {
	if err := code.UnmarshalText([]byte(text)); err != nil {
		return code, fmt.Errorf("--code: %w", err)
	}
	return code, nil
}

func parseNumber(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || numbers.CheckNumber(n) != nil {
		return 0, fmt.Errorf("%.40q is not a number from 1 to %d", text, uint64(numbers.MaxNumber-1))
	}
	return n, nil
}
