package main

import (
	"context"
	"fmt"
	"io"

	"github.com/snowgrid/snowgrid/grid"
)

type listMembersCommand struct {
	gridOutput
	Wide bool `help:"Show incarnations, all addresses and the range of protocols as well."`
}

type memberList struct {
	Grid      string            `json:"grid"`
	Name      string            `json:"name"`      // of the grid
	Answering string            `json:"answering"` // incarnation of the member that answered
	Members   []grid.MemberInfo `json:"members"`
}

func (c *listMembersCommand) Run(ctx context.Context, to streams) error {
	status, err := c.status(ctx)
	if err != nil {
		return err
	}
	list := memberList{Grid: status.Grid, Name: status.Name, Answering: status.Answering,
		Members: append([]grid.MemberInfo{}, status.Members...)}
	return c.result(to.out, list, func(w io.Writer) {
		if len(list.Members) == 0 {
			fmt.Fprintf(w, "no members yet: %s\n", status.NotReady)
			return
		}
		if c.Wide {
			fmt.Fprint(w, "NAME\tMEMBER\tAPI\tGOSSIP\tRAFT\tZONE\tROLE\tSTATE\tDURABLE\tOWNS\tREPLICAS\tBUILD\tPROTOCOLS\n")
		} else {
			fmt.Fprint(w, "NAME\tMEMBER\tAPI\tROLE\tSTATE\tOWNS\tBUILD\n")
		}
		for _, m := range list.Members {
			build, protocols := release(m.Release)
			if c.Wide {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\n", orNone(m.Name), m.Incarnation,
					orNone(m.API), orNone(m.Gossip), orNone(m.Raft), orNone(m.Zone),
					role(m), state(m), yes(m.Durable), m.Partitions, m.Replicas, build, protocols)
				continue
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", orNone(short(m.Name, 20)), m.ID(), orNone(m.API),
				role(m), state(m), m.Partitions, short(build, 12))
		}
	})
}

// role returns a member's part in the agreement on the roster.
func role(m grid.MemberInfo) string {
	switch {
	case m.Leader:
		return "leader"
	case m.Voter:
		return "voter"
	}
	return "member"
}

// state describes a member's replicas: in sync, copying, or not to be relied on since the
// member is silent.
func state(m grid.MemberInfo) string {
	switch {
	case !m.Alive:
		return "silent"
	case m.Settled:
		return "in sync"
	}
	return "copying"
}

// release returns a member's build and the protocols that it speaks.
func release(r *grid.Release) (build, protocols string) {
	if r == nil {
		return "-", "-"
	}
	return orNone(r.Build), fmt.Sprintf("%d to %d", max(r.Min, 1), max(r.Max, 1))
}
