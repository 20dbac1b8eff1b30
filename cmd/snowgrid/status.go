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

// statusBytesMax limits the size of a status response.
const statusBytesMax = 64 << 20

// statusCommand shows the state of a grid as one of its members sees it.
type statusCommand struct {
	gridFlags
	Output     string `short:"o" help:"Output format: table or json." enum:"table,json" default:"table"`
	Partitions bool   `help:"List every partition as well."`
}

// Help returns the part of --help between the usage and the flags.
func (statusCommand) Help() string {
	return `The first address that answers is used. That member collects the list of sequencers from the other members.

    snowgrid status
    snowgrid status --addr 10.0.0.1:7948 --partitions
    snowgrid status -o json

docs/operating.md explains each line.`
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

// fetchStatusOfAny queries the addresses in order until one answers, and returns the
// status and that address.
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
		return status, fmt.Errorf("HTTP status %s; check that this is the API address of a member", response.Status)
	}
	return status, json.Unmarshal(body, &status)
}

// printStatus writes the status as text.
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
	if s.Anchor != nil {
		printAnchor(table, s.Anchor)
	}
	window := s.Settings.Window.Duration()
	fmt.Fprintf(table, "settings\t%d partitions, %s, window %v\n", s.Settings.Partitions, kept(s), window)
	fmt.Fprintf(table, "partitions\t%s\n", ownership(s))
	if s.Advice != "" {
		fmt.Fprintf(table, "to do\t%s\n", s.Advice)
	}
	for _, foreign := range s.ForeignMembers {
		fmt.Fprintf(table, "foreign grid\t%s; it has the same name: stop one of the grids, or rename it\n", foreign)
	}
	if len(s.Unreachable) > 0 {
		fmt.Fprintf(table, "unreachable\t%s\n", strings.Join(s.Unreachable, ", "))
	}
}

// printAnchor writes how the grid stands to the record of its anchor.
func printAnchor(table io.Writer, a *grid.AnchorInfo) {
	left := (time.Duration(a.Left) * time.Millisecond).Round(100 * time.Millisecond)
	switch {
	case a.State == "":
		fmt.Fprintf(table, "anchor\tthe leader is not reached; grants for %v\n", left)
		return
	case a.RecordHolder == "":
		fmt.Fprintf(table, "anchor\t%s; grants for %v\n", a.State, left)
	default:
		fmt.Fprintf(table, "anchor\t%s, up to %s by grid %v, %s; grants for %v\n", a.State, moment(a.RecordCeiling), a.RecordGrid, a.RecordHolder, left)
	}
	if a.Error != "" {
		fmt.Fprintf(table, "anchor failed\t%s\n", a.Error)
	}
	if a.Advice != "" {
		fmt.Fprintf(table, "anchor to do\t%s\n", a.Advice)
	}
}

// kept returns the configured number of backups, and the actual one if it differs.
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

// printDisks lists the disks that store definitions.
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
	fmt.Fprint(table, "\nSEQUENCER\tEPOCH\tUNTIL\tNODES\tLAYOUT\tATTACHED\tPARTITION\tOWNER\n")
	for _, q := range s.Sequencers {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%v\t%s\t%d\t%s\n", q.Name, moment(q.Epoch), q.Exhausted.UTC().Format(time.DateOnly),
			q.Nodes, q.Layout, attached(q), q.Partition, q.Owner)
	}
}

// attachedShown is the number of logical nodes listed on a line.
const attachedShown = 8

// attached returns the number of attached logical nodes and lists the first of them.
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

// ownership summarizes owners and backups of the partitions.
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
	return fmt.Sprintf("%d, %d without an owner, %d with fewer backups than configured", len(s.Partitions), unowned, short)
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

// disks lists the members whose disks have a partition's definitions, in brackets if
// the partition waits for one of them.
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

// ahead returns the distance of the ceiling ahead of cluster time.
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

// aheadOfClock returns the lead of cluster time over the answering member's clock, if it
// is over a second. It results from clocks that were set back. A grid without data
// directories that restarts during that time can repeat IDs.
func aheadOfClock(s grid.Status) string {
	ahead := s.ClusterTime.Sub(s.Wall)
	if s.ClusterTime.IsZero() || s.Wall.IsZero() || ahead < time.Second {
		return ""
	}
	return fmt.Sprintf(" (%v ahead of this member's clock)", ahead.Round(time.Second))
}
