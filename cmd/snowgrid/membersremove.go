package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/wire"
)

type membersCommands struct {
	List   listMembersCommand  `cmd:"" default:"withargs" help:"List the members of a grid."`
	Remove removeMemberCommand `cmd:"" help:"Take a member out of the grid, whether it runs or not."`
}

type removeMemberCommand struct {
	Member string `arg:"" help:"Member: its ID (16 hex digits), incarnation, name, or API address, as listed by snowgrid status."`
	gridOutput
}

type removed struct {
	wire.RemoveResponse

	Left bool `json:"left"` // removed from the grid, according to the replying member
}

// Run makes the grid remove the member, and waits until it has left.
func (c *removeMemberCommand) Run(ctx context.Context, to streams) error {
	var out removed
	err := c.atMember(ctx, func(ctx context.Context, status grid.Status, addr string) error {
		id, err := memberID(status, c.Member)
		if err != nil {
			return err
		}
		if err := postTo(ctx, addr, status.Answering, wire.PathRemove, wire.RemoveRequest{Member: id},
			&out.RemoveResponse); err != nil {
			return err
		}
		out.Left = out.Leaving == "" || c.awaitLeft(ctx, out.API, out.Leaving)
		return nil
	})
	if err != nil {
		return asking(err)
	}
	return c.line(to.out, out, "%s", out.text())
}

// awaitLeft waits until only the leaving member still lists itself, and reports whether that happened
// in time.
func (c *removeMemberCommand) awaitLeft(ctx context.Context, api string, leaving roster.Incarnation) bool {
	others := slices.DeleteFunc(slices.Clone(c.Addr), func(addr string) bool { return addr == api })
	for {
		status, _, err := fetchStatusOfAny(ctx, others)
		if err == nil && status.Answering != string(leaving) &&
			!slices.ContainsFunc(status.Members, func(m grid.MemberInfo) bool { return m.Incarnation == string(leaving) }) {
			return true
		}
		if err == nil { // the list is complete
			for _, m := range status.Members {
				if m.API != api && !slices.Contains(others, m.API) {
					others = append(others, m.API)
				}
			}
		}
		if !signal.Sleep(ctx, 200*time.Millisecond) {
			return false
		}
	}
}

func (r removed) text() string {
	switch {
	case r.Leaving == "":
		text := fmt.Sprintf("member %s was removed; it no longer has a vote", r.Member)
		if r.Disks > 0 {
			text += fmt.Sprintf("; its disk has definitions for %s, which other disks also have", counted(r.Disks, "partition"))
		}
		return text
	case r.Left:
		return fmt.Sprintf("member %s has left the grid", r.Leaving)
	}
	return fmt.Sprintf("member %s is leaving the grid and has not handed over everything yet; see snowgrid status",
		r.Leaving)
}

// memberID finds the member that an operator names. A name of a member in the grid counts before the same name of one
// that is gone, whose vote or disk the status lists.
func memberID(s grid.Status, named string) (roster.MemberID, error) {
	var found []string
	for _, m := range s.Members {
		if slices.Contains([]string{m.Incarnation, m.ID(), m.Name, m.API}, named) && named != "" {
			found = append(found, m.ID())
		}
	}
	if found == nil && named != "" {
		found = goneNamed(s, named)
	}
	id, _, _ := strings.Cut(named, "-") // an incarnation is accepted too
	switch {
	case len(found) == 1:
		return roster.MemberID(found[0]), nil
	case len(found) > 1:
		return "", fmt.Errorf("%d members are named %q: give one of the IDs %s", len(found), named,
			strings.Join(found, ", "))
	case roster.MemberID(id).Check() == nil: // a member that does not run
		return roster.MemberID(id), nil
	case s.Version == 0:
		return "", fmt.Errorf("no member is named %q yet: the grid is not formed: %s", named, reasonOf(s))
	}
	return "", fmt.Errorf(
		"no member is named %q: give an ID, an incarnation, a name or an API address that snowgrid status lists", named)
}

// goneNamed returns the IDs of the members with a name that are not in the grid and whose vote or disk the
// status lists.
func goneNamed(s grid.Status, name string) (ids []string) {
	for _, a := range s.Absent {
		if a.Name == name {
			ids = append(ids, a.ID)
		}
	}
	for _, d := range s.Disks {
		if d.Name == name && !d.Runs {
			ids = append(ids, d.Member)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
