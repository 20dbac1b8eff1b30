package grid

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/internal/bounded"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/leader/anchor"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/spelling"
)

// Alert limits.
const (
	clockOffsetMax     = time.Second
	certificateWithin  = 14 * 24 * time.Hour
	certificateSoon    = 3 * 24 * time.Hour
	alertSubjectsShown = 3
)

// subjects lists the first things that an alert is about, and counts the others.
func subjects(all []string) string {
	text := strings.Join(all[:min(len(all), alertSubjectsShown)], "; ")
	if more := len(all) - alertSubjectsShown; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// about returns an alert about the things found, or none if there are none.
func about(found []string, severity Severity, format string, args ...any) (Severity, string) {
	if len(found) == 0 {
		return "", ""
	}
	return severity, fmt.Sprintf(format, args...)
}

// majority returns how many voters have to be alive.
func majority(voters int) int { return voters/2 + 1 }

func checkQuorum(s Status) (Severity, string) {
	if s.Advice != "" {
		return Critical, strings.TrimPrefix(s.Advice, quorumLostPrefix) // the alert's name says it
	}
	if s.Voters == 0 {
		return Critical, fmt.Sprintf("member %s is in no grid yet; check its join addresses, and that the expected members "+
			"run", s.Answering)
	}
	if s.Leader == "" && s.VotersAlive < majority(s.Voters) { // a leader has one, whatever gossip sees
		return Critical, fmt.Sprintf("%s alive, and the quorum is %d; start the missing members again, or restore the "+
			"network to them", s.aliveOf(), majority(s.Voters))
	}
	waits := s.Anchor != nil && s.Anchor.State == string(anchor.Waiting) // its leader does, not yet in the roster
	if i := slices.IndexFunc(s.Members, func(m MemberInfo) bool { return m.Incarnation == s.Answering }); s.Leader == "" &&
		i >= 0 && s.Members[i].Report.diskCause() != "" {
		return Critical, fmt.Sprintf("%s takes no part in the grid, and sees no leader, because of its disk: %s; ask "+
			"another member whether the grid has one", s.Members[i].who(), s.Members[i].Report.diskCause())
	}
	if s.Leader == "" && !waits {
		return Critical, fmt.Sprintf("the grid has no leader, and %s alive; an election takes seconds: if this persists, "+
			"check that the members reach each other's Raft addresses", s.aliveOf())
	}
	return "", ""
}

func checkQuorumMargin(s Status) (Severity, string) {
	need := majority(s.Voters)
	if len(s.Members) <= 1 || s.VotersAlive != need {
		return "", ""
	}
	if s.Voters < 3 {
		return Warning, fmt.Sprintf("the grid has %s and %s: losing a voter stops it; run at least 3 members",
			spelling.Count(len(s.Members), "member"), spelling.Count(s.Voters, "voter"))
	}
	return Warning, fmt.Sprintf("%s alive, and the quorum is %d: losing one more stops the grid; start %s again, or "+
		"another member", s.aliveOf(), need, s.missingVoters())
}

// aliveOf returns the voters alive with their verb: 2 of 3 voters are.
func (s Status) aliveOf() string { return spelling.CountOf(s.VotersAlive, s.Voters, "voter") }

// missingVoters names the voters that are not seen alive.
func (s Status) missingVoters() string {
	var missing []string
	for _, a := range s.Absent {
		missing = append(missing, a.who())
	}
	for _, m := range s.Members {
		if m.Voter && !m.Alive {
			missing = append(missing, m.who())
		}
	}
	if len(missing) == 0 {
		return "the missing member"
	}
	return subjects(missing)
}

func checkMissing(s Status) (Severity, string) {
	expect := s.Settings.Expect // agreed: members that state a number may be gone, or state a smaller one since
	var state []string
	for _, m := range s.Members {
		if m.Report != nil && m.Report.Expect > len(s.Members) {
			expect = max(expect, m.Report.Expect)
			state = append(state, m.who())
		}
	}
	if len(s.Members) == 0 || len(s.Members) >= expect {
		return "", ""
	}
	gone := ""
	if len(s.Absent) > 0 {
		gone = " Gone, and its vote counts: " + s.missingVoters() + "."
	}
	lower := ""
	if s.Settings.Expect > len(s.Members) {
		lower = fmt.Sprintf(" run `snowgrid settings set expect=%d`;", len(s.Members))
	}
	if len(state) > 0 {
		lower += fmt.Sprintf(" set expect to %d in the configuration of %s;", len(s.Members), subjects(state))
	}
	return Warning, fmt.Sprintf("the grid has %s, and %d are expected.%s Start the others again; if fewer are meant to "+
		"run:%s",
		spelling.Count(len(s.Members), "member"), expect, gone, strings.TrimSuffix(lower, ";"))
}

func checkCeiling(s Status) (Severity, string) {
	if s.ClusterTime.IsZero() || s.Ceiling.IsZero() {
		return "", ""
	}
	lead, limit := s.Ceiling.Sub(s.ClusterTime), s.Settings.Window.Duration()/3
	switch remedy := "check that a leader and a majority of the voters run, and check their disks and the anchor, if " +
		"configured"; {
	case lead <= 0:
		return Critical, fmt.Sprintf("the ceiling is %v behind cluster time: holders wait; %s", -lead, remedy)
	case lead < limit:
		return Warning, fmt.Sprintf("the ceiling is %v ahead of cluster time, less than %v: holders wait when it is used "+
			"up; %s", lead, limit, remedy)
	}
	return "", ""
}

func checkOwners(s Status) (Severity, string) {
	unowned := 0
	for _, p := range s.Partitions {
		if p.Owner == "" {
			unowned++
		}
	}
	if unowned == 0 {
		return "", ""
	}
	return Critical, fmt.Sprintf("%d of %d partitions have no owner; wait for the expected members, or see the leader's "+
		"log", unowned, len(s.Partitions))
}

// MissingCopies returns the number of missing partition copies: the configured number, or the
// number of other members if that is less, minus the copies in sync.
func (s Status) MissingCopies() (copies, partitions int) {
	want := min(s.Settings.Backups, len(s.Members)-1)
	for _, p := range s.Partitions {
		if missing := want - max(0, len(p.InSync)-1); missing > 0 {
			copies += missing
			partitions++
		}
	}
	return copies, partitions
}

func copiesText(n int) string {
	if n == 1 {
		return "1 copy"
	}
	return fmt.Sprintf("%d copies", n)
}

func checkCopies(s Status) (Severity, string) {
	copies, partitions := s.MissingCopies()
	if copies == 0 {
		return "", ""
	}
	return Warning, fmt.Sprintf("%d of %d partitions lack %s, with %d configured for each; the owners restore them "+
		"within seconds: if not, see the owners' logs",
		partitions, len(s.Partitions), copiesText(copies), s.Settings.Backups)
}

func checkMembers(s Status) (Severity, string) {
	if len(s.Members) == 0 || s.Settings.Backups <= len(s.Members)-1 {
		return "", ""
	}
	severity := Warning
	if len(s.Members) == 1 { // as intended, in most cases
		severity = Info
	}
	return severity, fmt.Sprintf("%s cannot keep %s for each partition; start %d more, or configure fewer backups",
		spelling.Count(len(s.Members), "member"), spelling.Count(s.Settings.Backups, "backup"),
		s.Settings.Backups+1-len(s.Members))
}

func checkAwaited(s Status) (Severity, string) {
	var disks []string
	for _, d := range s.Disks {
		if d.Awaited > 0 && !d.Runs {
			disks = append(disks, fmt.Sprintf("%s, for %s", AbsentVoter{ID: d.Member, Name: d.Name}.who(),
				spelling.Count(d.Awaited, "partition")))
		}
	}
	return about(disks, Critical, "partitions wait for definitions from %s; start these members with their data "+
		"directories, or restore the network to members without one, or run `snowgrid forget` for each lost member",
		subjects(disks))
}

func checkDown(s Status) (Severity, string) {
	var down []string
	for _, m := range s.Members {
		if !m.Alive {
			down = append(down, m.who()+" fails its gossip probes")
		} else if slices.Contains(s.Unreachable, m.Incarnation) {
			down = append(down, m.who()+" did not answer at "+m.API)
		}
	}
	return about(down, Warning,
		"members without an answer, %d of %d: %s; start them again, or restore the network to them", len(down),
		len(s.Members), subjects(down))
}

// who returns the member's name for people with its incarnation.
func (m MemberInfo) who() string {
	if m.Name == "" {
		return m.Incarnation
	}
	return m.Name + " (" + m.Incarnation + ")"
}

func checkBeginning(s Status) (Severity, string) {
	if s.IDsBegin.IsZero() {
		return "", ""
	}
	b := firstID{at: clustertime.TickOf(s.IDsBegin), why: s.IDsWait}
	return Warning, b.text(clustertime.TickOf(s.now())) + "; no action is needed"
}

// saysBeginning reports whether a member is not ready only because IDs begin later, which has its
// own alert in the grid.
func (s Status) saysBeginning(reason string) bool {
	return !s.IDsBegin.IsZero() && strings.HasPrefix(reason, idsBeginAt)
}

func checkReadiness(s Status) (Severity, string) {
	var unready []string
	for _, m := range s.Members {
		if m.Report != nil && m.Report.NotReady != "" && !s.saysBeginning(m.Report.NotReady) {
			unready = append(unready, m.who()+": "+m.Report.NotReady)
		}
	}
	if len(unready) == 0 && !s.Ready && !s.saysBeginning(s.NotReady) {
		unready = append(unready, s.Answering+": "+s.NotReady)
	}
	return about(unready, Warning, "not ready: %s; wait if it has just started, otherwise see its log", subjects(unready))
}

func checkDisks(s Status) (Severity, string) {
	hangs := func(reason string) bool { return strings.Contains(reason, bounded.ErrHangs.Error()) }
	var failed []string
	remedy := "a member takes part again when its writes return"
	for _, m := range s.Members {
		if cause := m.Report.diskCause(); cause != "" {
			failed = append(failed, m.who()+": "+cause)
			if !hangs(cause) {
				remedy = "free space, replace the disk or put the directory back, then restart the member"
			}
		}
	}
	if len(failed) == 0 && hangs(s.NotReady) { // the others have replaced the member that answers
		failed = append(failed, s.Answering+": "+s.NotReady)
	}
	return about(failed, Critical, "%s; %s", subjects(failed), remedy)
}

func checkClocks(s Status) (severity Severity, text string) {
	var off []string
	worst := time.Duration(0)
	for _, m := range s.Members {
		if m.Report == nil || m.Report.ClockOffset == 0 {
			continue
		}
		offset := m.Report.ClockOffset.Duration()
		if offset.Abs() > clockOffsetMax {
			off = append(off, fmt.Sprintf("%s by %v", m.who(), offset))
			worst = max(worst, offset.Abs())
		}
	}
	severity = Warning
	if worst > clustertime.ClockMargin.Duration() {
		severity = Critical
	}
	return about(off, severity, "wall clocks are more than %v off cluster time: %s; synchronize them (NTP)",
		clockOffsetMax, subjects(off))
}

func checkCertificates(s Status) (severity Severity, text string) {
	var ends []string
	severity = Warning
	for _, m := range s.Members {
		if m.Report == nil || m.Report.CertificateExpiry.IsZero() {
			continue
		}
		left := m.Report.CertificateExpiry.Sub(s.Wall)
		if left > certificateWithin {
			continue
		}
		if left <= certificateSoon {
			severity = Critical
		}
		ends = append(ends, fmt.Sprintf("%s on %s", m.who(), m.Report.CertificateExpiry.UTC().Format(time.RFC3339)))
	}
	return about(ends, severity, "TLS certificates end within %d days: %s; replace them (snowgrid secure issue, or "+
		"secure rotate for the authority); members reload them without a restart", int(certificateWithin.Hours()/24),
		subjects(ends))
}

func checkForeign(s Status) (Severity, string) {
	return about(s.ForeignMembers, Warning,
		"another grid named %q is reachable: %s; stop one of the grids, or rename it", s.Name, subjects(s.ForeignMembers))
}

func checkAnchor(s Status) (Severity, string) {
	a := s.Anchor
	switch {
	case a == nil, a.State == "", a.State == string(anchor.Taking) && a.Error == "":
		return "", ""
	case a.State == string(anchor.Held) && a.Error == "":
		return "", ""
	case a.State == string(anchor.Held), a.State == string(anchor.Taking):
		return Warning, fmt.Sprintf("the anchor cannot be written: %s; grants end in %v: check its store", a.Error,
			a.Left.Duration())
	}
	state := a.State
	if a.Error != "" {
		state += " (" + a.Error + ")"
	}
	return Critical, fmt.Sprintf("the anchor is %s, and grants end in %v; %s", state, a.Left.Duration(),
		cmp.Or(a.Advice, "see the leader's log"))
}

func checkReleases(s Status) (Severity, string) {
	var releases []Release
	var told []string
	for _, m := range s.Members {
		if m.Release == nil || slices.Contains(releases, *m.Release) {
			continue
		}
		releases = append(releases, *m.Release)
		r := roster.Release{Min: roster.Protocol(m.Release.Min), Max: roster.Protocol(m.Release.Max), Build: m.Release.Build}
		told = append(told, fmt.Sprintf("%s runs %s", m.who(), r))
	}
	if len(releases) < 2 {
		return "", ""
	}
	return Info, fmt.Sprintf("members run %d different releases: %s; finish the upgrade", len(releases), subjects(told))
}
