package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/wire"
)

type statusCommand struct {
	gridOutput
	Partitions bool `help:"List every partition as well."`
	Check      bool `help:"Print only what needs attention, and exit with 0 if nothing does, 3 if no member answers, 4 otherwise."`
}

func (s *statusCommand) Run(ctx context.Context, to streams) error {
	status, err := s.status(ctx)
	if err != nil {
		return err
	}
	if s.Check {
		return s.check(to, status)
	}
	return s.result(to.out, status, func(w io.Writer) { printStatus(w, status, s.Partitions) })
}

func printStatus(table io.Writer, s grid.Status, partitions bool) {
	printGrid(table, s)
	printMembers(table, s.Members)
	printDisks(table, s.Disks)
	printSets(table, s.Sets)
	if len(s.Quotas) > 0 {
		fmt.Fprintln(table)
		writeQuotas(table, s.Quotas)
	}
	if partitions {
		printPartitions(table, s)
	}
	printSequencers(table, s)
}

// certificates returns the time when the first certificate of the replying members expires; "" for a
// grid in clear text.
func certificates(s grid.Status) string {
	var first time.Time
	of := ""
	for _, m := range s.Members {
		if m.Report == nil || m.Report.CertificateExpiry.IsZero() {
			continue
		}
		if end := m.Report.CertificateExpiry; first.IsZero() || end.Before(first) {
			first, of = end, named(m.Name, m.Incarnation)
		}
	}
	if first.IsZero() {
		return ""
	}
	return fmt.Sprintf("the first ends on %s, of %s", first.UTC().Format(time.RFC3339), of)
}

func printGrid(table io.Writer, s grid.Status) {
	id := fmt.Sprintf(" (%v)", s.Grid)
	if s.Version == 0 {
		id = ", whose roster this member has not received"
	}
	fmt.Fprintf(table, "grid\t%s%s\n", s.Name, id)
	fmt.Fprintf(table, "answered by\t%s%s\n", named(s.AnsweringName, s.Answering),
		unless(s.Ready, ", which is not ready: "+s.NotReady))
	if i := s.Identity; i != nil {
		fmt.Fprintf(table, "its number\t%s in set %s of cluster %s, %s%s\n", orNoNumber(i.ID), i.Set, i.Cluster,
			i.State, unless(i.Error == "", ": "+i.Error))
	}
	fmt.Fprintf(table, "settled\t%s%s\n", yes(s.Settled), unless(s.Settled, ": "+s.NotSettled))
	fmt.Fprintf(table, "leader\t%s\n", named(s.LeaderName, s.Leader))
	fmt.Fprintf(table, "cluster time\t%s%s\n", moment(s.ClusterTime), aheadOfClock(s))
	fmt.Fprintf(table, "ceiling\t%s%s\n", moment(s.Ceiling), ahead(s))
	if !s.IDsBegin.IsZero() {
		fmt.Fprintf(table, "IDs begin\t%s (in %.1fs): %s\n", moment(s.IDsBegin), s.IDsBegin.Sub(s.ClusterTime).Seconds(),
			s.IDsWait)
	}
	if s.Anchor != nil {
		printAnchor(table, s.Anchor)
	}
	fmt.Fprintf(table, "settings\t%s\n", settings(s))
	fmt.Fprintf(table, "partitions\t%s\n", ownership(s))
	printZones(table, s)
	if text := certificates(s); text != "" {
		fmt.Fprintf(table, "certificates\t%s\n", text)
	}
	if s.Advice != "" {
		fmt.Fprintf(table, "to do\t%s\n", s.Advice)
	}
	for _, m := range s.Members {
		if m.Report != nil && len(m.Report.WithoutUDP) > 0 {
			fmt.Fprintf(table, "without UDP\t%s gets no answer from %s: allow UDP besides TCP\n",
				named(m.Name, m.Incarnation), strings.Join(m.Report.WithoutUDP, ", "))
		}
	}
	printUnresolved(table, s)
	for _, foreign := range s.ForeignMembers {
		fmt.Fprintf(table, "foreign grid\t%s has the same name: stop one of the grids, or rename it\n", foreign)
	}
	if len(s.Unreachable) > 0 {
		fmt.Fprintf(table, "unreachable\t%s\n", strings.Join(s.Unreachable, ", "))
	}
	if len(s.Unlisted) > 0 {
		fmt.Fprintf(table, "not listed\tsequencers in %s: no owner listed them\n", wire.Partitions(s.Unlisted))
	}
}

// printUnresolved writes each member's addresses to join that were not resolved. The answering member may be
// in no grid yet.
func printUnresolved(table io.Writer, s grid.Status) {
	const remedy = "correct the address to join (--join), or restore its DNS record or file"
	own := s.UnresolvedJoin
	for _, m := range s.Members {
		if m.Incarnation == s.Answering {
			own = nil
		}
		if m.Report != nil && len(m.Report.UnresolvedJoin) > 0 {
			fmt.Fprintf(table, "not resolved\tof %s: %s: %s\n", named(m.Name, m.Incarnation),
				strings.Join(m.Report.UnresolvedJoin, ", "), remedy)
		}
	}
	if len(own) > 0 {
		fmt.Fprintf(table, "not resolved\tof %s: %s: %s\n", named(s.AnsweringName, s.Answering), strings.Join(own, ", "),
			remedy)
	}
}

// printAnchor writes how the grid stands to the record of its anchor.
func printAnchor(table io.Writer, a *grid.AnchorInfo) {
	left := a.Left.Duration().Round(100 * time.Millisecond)
	switch {
	case a.State == "":
		fmt.Fprintf(table, "anchor\tthe leader is not reached; grants for %v\n", left)
		return
	case a.RecordHolder == "":
		fmt.Fprintf(table, "anchor\t%s; grants for %v\n", a.State, left)
	default:
		fmt.Fprintf(table, "anchor\t%s, up to %s by grid %v, %s; grants for %v\n", a.State, moment(a.RecordCeiling),
			a.RecordGrid, a.RecordHolder, left)
	}
	if a.Error != "" {
		fmt.Fprintf(table, "anchor failed\t%s\n", a.Error)
	}
	if a.Advice != "" {
		fmt.Fprintf(table, "anchor to do\t%s\n", a.Advice)
	}
}

// settings returns the settings that the grid has agreed on, "-" before it is formed.
func settings(s grid.Status) string {
	if s.Settings.Partitions == 0 {
		return orNone("")
	}
	return fmt.Sprintf("%s, %s, window %v, voters %d", counted(s.Settings.Partitions, "partition"), kept(s),
		s.Settings.Window.Duration(), s.Settings.MostVoters())
}

// kept returns the configured number of backups, and the actual one if it differs.
func kept(s grid.Status) string {
	if s.Settings.Backups == s.Copies {
		return fmt.Sprintf("backups %d", s.Settings.Backups)
	}
	return fmt.Sprintf("backups %d (some have %d)", s.Settings.Backups, s.Copies)
}

func printMembers(table io.Writer, members []grid.MemberInfo) {
	fmt.Fprint(table, "\nNAME\tMEMBER\tROLE\tDISK\tSTATE\tOWNS\tCOPIES\tAPI\n")
	for _, m := range members {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\n", orNone(short(m.Name, 20)), m.ID(), role(m),
			yes(m.Durable), state(m),
			m.Partitions, m.Replicas, orNone(m.API))
	}
}

func printDisks(table io.Writer, disks []grid.DiskInfo) {
	if len(disks) == 0 {
		return
	}
	fmt.Fprint(table, "\nDISK OF\tRUNS\tPARTITIONS\tALONE\tAWAITED\n")
	for _, d := range disks {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\n", named(d.Name, d.Member), yes(d.Runs), d.Partitions, d.Alone,
			d.Awaited)
	}
}

func printSets(table io.Writer, sets []grid.SetInfo) {
	if len(sets) == 0 {
		return
	}
	fmt.Fprint(table, "\nCLUSTER\tSET\tNEXT NUMBER\tPROCESSES\n")
	for _, s := range sets {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\n", s.Cluster, s.Name, s.Next, s.Members)
	}
}

func printPartitions(table io.Writer, s grid.Status) {
	names := callNamesOf(s.Members)
	fmt.Fprint(table, "\nPARTITION\tOWNER\tBACKUPS\tDISKS\tTERM\tFLOOR\n")
	for _, p := range s.Partitions {
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%d\t%s\n", p.ID, names.of(p.Owner), names.list(p.InSync, p.Owner), disks(p),
			p.Term, moment(p.Floor))
	}
}

// sequencersShown is the number of sequencers in the table; snowgrid sequencers lists all.
const sequencersShown = 20

func printSequencers(table io.Writer, s grid.Status) {
	if len(s.Sequencers) == 0 {
		if len(s.Unlisted) == 0 && len(s.Partitions) > 0 { // else there may be some
			fmt.Fprint(table, "\nno sequencers\n")
		}
		return
	}
	names := callNamesOf(s.Members)
	fmt.Fprint(table, "\nSEQUENCER\tATTACHED\tNODES\tLAYOUT\tENDS\tOWNER\n")
	for _, q := range s.Sequencers[:min(len(s.Sequencers), sequencersShown)] {
		fmt.Fprintf(table, "%s\t%d\t%d\t%v\t%s\t%s\n", short(q.Name, nameWidth), q.Attached,
			q.NodeRange.Count(q.Nodes), q.Layout,
			q.Exhausted.UTC().Format(time.DateOnly),
			names.of(q.Owner))
	}
	if more := len(s.Sequencers) - sequencersShown; more > 0 {
		fmt.Fprintf(table, "and %d more: snowgrid sequencers\n", more)
	}
}

// ownership summarizes owners and backups of the partitions.
func ownership(s grid.Status) string {
	if len(s.Partitions) == 0 {
		return orNone("") // the grid is not formed
	}
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

// disks lists the members that have a partition's definitions on disk, in brackets if the partition
// waits for one.
func disks(p grid.PartitionInfo) string {
	if len(p.Awaited) > 0 {
		return "(" + strings.Join(p.Disks, " ") + ")"
	}
	return orNone(strings.Join(p.Disks, " "))
}

// ahead returns the distance between the ceiling and cluster time.
func ahead(s grid.Status) string {
	if s.ClusterTime.IsZero() || s.Ceiling.IsZero() {
		return ""
	}
	lead := s.Ceiling.Sub(s.ClusterTime).Seconds()
	if lead < 0 {
		return fmt.Sprintf(" (%.1fs behind)", -lead)
	}
	return fmt.Sprintf(" (%.1fs ahead)", lead)
}

func unless(holds bool, text string) string {
	if holds {
		return ""
	}
	return text
}

func orNone(text string) string { return cmp.Or(text, "-") }

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
