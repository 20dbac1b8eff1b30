package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/snowgrid/snowgrid/grid"

	"github.com/snowgrid/snowgrid/wire"
)

// statusBytesMax bounds the answer that is read.
const statusBytesMax = 64 << 20

// statusCommand shows a grid as one of its members knows it.
type statusCommand struct {
	gridFlags
	Output     string `short:"o" help:"table or json." enum:"table,json" default:"table"`
	Partitions bool   `help:"List every partition in the table too."`
}

// Help is the part of --help between the usage and the flags.
func (statusCommand) Help() string {
	return `The first address that answers is asked; it asks the other members for their sequencers.

    snowgrid status
    snowgrid status --addr 10.0.0.1:7948 --partitions
    snowgrid status -o json`
}

// Run prints the status.
func (s *statusCommand) Run(ctx context.Context, to streams) error {
	var status grid.Status
	err := s.ask(ctx, func(ctx context.Context) (err error) {
		status, _, err = fetchStatusOfAny(ctx, s.Addr)
		return err
	})
	if err != nil {
		return err
	}
	if s.Output == "json" {
		encoder := json.NewEncoder(to.out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(status)
	}
	return printStatus(to.out, status, s.Partitions)
}

// fetchStatusOfAny asks one address after the other until one answers, and returns
// that address too.
func fetchStatusOfAny(ctx context.Context, addrs []string) (status grid.Status, addr string, err error) {
	var errs []error
	for _, addr := range addrs {
		status, err := fetchStatus(ctx, addr)
		if err == nil {
			return status, addr, nil
		}
		errs = append(errs, fmt.Errorf("no status from %s: %w", addr, err))
	}
	return grid.Status{}, "", errors.Join(errs...)
}

func fetchStatus(ctx context.Context, addr string) (status grid.Status, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+wire.PathStatus, nil)
	if err != nil {
		return status, err
	}
	request.Header.Set("Accept", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return status, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, statusBytesMax))
	switch {
	case err != nil:
		return status, err
	case response.StatusCode != http.StatusOK:
		var refused wire.Error
		if json.Unmarshal(body, &refused) == nil && refused.Message != "" {
			return status, refusal(refused)
		}
		return status, fmt.Errorf("answered %s; is it the API address of a member?", response.Status)
	}
	return status, json.Unmarshal(body, &status)
}

// printStatus writes the status for people.
func printStatus(w io.Writer, s grid.Status, partitions bool) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	printGrid(table, s)
	printMembers(table, s.Members)
	printDisks(table, s.Disks)
	if partitions {
		printPartitions(table, s.Partitions)
	}
	printSequencers(table, s)
	return table.Flush()
}

func printGrid(table io.Writer, s grid.Status) {
	fmt.Fprintf(table, "grid\t%s (%v)\n", s.Name, s.Grid)
	fmt.Fprintf(table, "answered by\t%s%s\n", s.Answering, unless(s.Ready, ", which is not ready: "+s.NotReady))
	fmt.Fprintf(table, "settled\t%s%s\n", yes(s.Settled), unless(s.Settled, ": "+s.NotSettled))
	fmt.Fprintf(table, "leader\t%s\n", orNone(s.Leader))
	fmt.Fprintf(table, "cluster time\t%s%s\n", moment(s.ClusterTime), aheadOfClock(s))
	fmt.Fprintf(table, "ceiling\t%s%s\n", moment(s.Ceiling), ahead(s))
	window := time.Duration(s.Settings.Window) * time.Millisecond
	fmt.Fprintf(table, "settings\t%d partitions, %s, window %v\n", s.Settings.Partitions, kept(s), window)
	fmt.Fprintf(table, "partitions\t%s\n", ownership(s))
	if s.Advice != "" {
		fmt.Fprintf(table, "to do\t%s\n", s.Advice)
	}
	for _, stranger := range s.Strangers {
		fmt.Fprintf(table, "stranger\t%s; it has the same name: stop one of the grids, or give it another name\n", stranger)
	}
	if len(s.Unreachable) > 0 {
		fmt.Fprintf(table, "unreachable\t%s\n", strings.Join(s.Unreachable, ", "))
	}
}

// kept says how many backups there are to be, and are.
func kept(s grid.Status) string {
	if s.Settings.Backups == s.Copies {
		return fmt.Sprintf("backups %d", s.Settings.Backups)
	}
	return fmt.Sprintf("backups %d (some partitions have %d)", s.Settings.Backups, s.Copies)
}

func printMembers(table io.Writer, members []grid.MemberInfo) {
	fmt.Fprint(table, "\nMEMBER\tAPI\tROLE\tDURABLE\tALIVE\tOWNS\tREPLICAS\tIN SYNC\n")
	for _, m := range members {
		role := "member"
		switch {
		case m.Leader:
			role = "leader"
		case m.Voter:
			role = "voter"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\n", m.Incarnation, orNone(m.API), role, yes(m.Durable), yes(m.Alive),
			m.Partitions, m.Replicas, yes(m.Settled))
	}
}

// printDisks lists the disks on which definitions rest.
func printDisks(table io.Writer, disks []grid.DiskInfo) {
	if len(disks) == 0 {
		return
	}
	fmt.Fprint(table, "\nDISK OF\tRUNS\tPARTITIONS\tALONE\tAWAITED\n")
	for _, d := range disks {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\n", d.Member, yes(d.Runs), d.Partitions, d.Alone, d.Awaited)
	}
}

func printPartitions(table io.Writer, partitions []grid.PartitionInfo) {
	fmt.Fprint(table, "\nPARTITION\tOWNER\tBACKUPS\tDISKS\tTERM\tFLOOR\n")
	for _, p := range partitions {
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%d\t%s\n", p.ID, orNone(string(p.Owner)), backups(p), disks(p), p.Term, moment(p.Floor))
	}
}

func printSequencers(table io.Writer, s grid.Status) {
	if len(s.Sequencers) == 0 {
		fmt.Fprint(table, "\nno sequencers\n")
		return
	}
	fmt.Fprint(table, "\nSEQUENCER\tEPOCH\tUNTIL\tNODES\tATTACHED\tPARTITION\tOWNER\n")
	for _, q := range s.Sequencers {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%d\t%s\n", q.Name, moment(q.Epoch), q.Exhausted.UTC().Format(time.DateOnly),
			q.Nodes, attached(q), q.Partition, q.Owner)
	}
}

// attachedShown is how many logical nodes a line names.
const attachedShown = 8

// attached says how many nodes are attached and names the first of them.
func attached(q grid.SequencerInfo) string {
	if q.Attached == 0 {
		return "0"
	}
	var names []string
	for _, node := range q.AttachedNodes[:min(len(q.AttachedNodes), attachedShown)] {
		names = append(names, strconv.Itoa(int(node)))
	}
	if q.Attached > len(names) {
		names = append(names, "...")
	}
	return fmt.Sprintf("%d (%s)", q.Attached, strings.Join(names, " "))
}

// ownership says in a sentence who is missing what.
func ownership(s grid.Status) string {
	unowned, short := 0, 0
	for _, p := range s.Partitions {
		switch {
		case p.Owner == "":
			unowned++
		case len(p.InSync) < 1+s.Settings.Backups:
			short++
		}
	}
	if unowned+short == 0 {
		return fmt.Sprintf("%d, each with an owner and every backup", len(s.Partitions))
	}
	return fmt.Sprintf("%d, %d without an owner, %d with fewer backups than set", len(s.Partitions), unowned, short)
}

func backups(p grid.PartitionInfo) string {
	var names []string
	for _, replica := range p.InSync {
		if replica != p.Owner {
			names = append(names, string(replica))
		}
	}
	return orNone(strings.Join(names, " "))
}

// disks names the members whose disks have a partition's definitions, in brackets if
// the partition waits for them.
func disks(p grid.PartitionInfo) string {
	var names []string
	for _, member := range p.Disks {
		names = append(names, string(member))
	}
	if len(p.Awaited) > 0 {
		return "(" + strings.Join(names, " ") + ")"
	}
	return orNone(strings.Join(names, " "))
}

// ahead says how far the ceiling lies ahead of cluster time.
func ahead(s grid.Status) string {
	if s.ClusterTime.IsZero() || s.Ceiling.IsZero() {
		return ""
	}
	return fmt.Sprintf(" (%.1fs ahead)", s.Ceiling.Sub(s.ClusterTime).Seconds())
}

func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(millisecondLayout)
}

func unless(holds bool, text string) string {
	if holds {
		return ""
	}
	return text
}

func orNone(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func yes(holds bool) string {
	if holds {
		return "yes"
	}
	return "no"
}

// aheadOfClock says how far cluster time is ahead of the clock of the member that
// answers, if it is by more than a second: clocks that were put back do that, and a
// grid without data directories that starts again meanwhile may repeat IDs.
func aheadOfClock(s grid.Status) string {
	ahead := s.ClusterTime.Sub(s.Wall)
	if s.ClusterTime.IsZero() || s.Wall.IsZero() || ahead < time.Second {
		return ""
	}
	return fmt.Sprintf(" (%v ahead of this member's clock)", ahead.Round(time.Second))
}
