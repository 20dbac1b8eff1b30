package grid

import (
	"cmp"
	"slices"
)

// Severity is the urgency with which an operator has to act.
type Severity string

// The severities. Info needs no action by itself, as mixed versions during an upgrade;
// Warning needs one soon, since one more failure may hurt; Critical needs one now.
const (
	Info     Severity = "info"
	Warning  Severity = "warning"
	Critical Severity = "critical"
)

// rank orders severities, the most urgent first.
func (s Severity) rank() int { return slices.Index([]Severity{Critical, Warning, Info}, s) }

// Alert is a state of the grid that needs an operator's attention.
type Alert struct {
	Name     string   `json:"name"` // one of AlertKinds
	Severity Severity `json:"severity"`
	Text     string   `json:"text"` // the value, its limit and the remedy
}

// AlertKind is a kind of alert, with the severities that it can have.
type AlertKind struct {
	Name       string
	Severities []Severity
	Meaning    string
	check      func(s Status) (Severity, string) // "" for no alert
}

// alertKinds are all kinds, by name.
var alertKinds = []AlertKind{
	{"anchor_not_held", []Severity{Critical, Warning}, "The grid does not hold its anchor, or cannot write it.",
		checkAnchor},
	{"ceiling_low", []Severity{Critical, Warning}, "The ceiling is less than a third of the window ahead of cluster time: holders are about to wait, or wait.", checkCeiling},
	{"certificate_expires", []Severity{Critical, Warning}, "A member's TLS certificate, or its authority, ends within 14 days (critical: 3).", checkCertificates},
	{"clock_offset", []Severity{Critical, Warning},
		"A member's wall clock is more than 1 s off cluster time (critical: 5 s).", checkClocks},
	{"copies_missing", []Severity{Warning}, "Partitions have fewer copies in sync than configured: the loss of an owner could lose a table.", checkCopies},
	{"definitions_awaited", []Severity{Critical}, "Creates, opens and destroys in some partitions wait for the definitions of a member that does not run.", checkAwaited},
	{"descriptors_exhausted", []Severity{Critical}, "A member accepted no connections within the last minute: no file descriptor was left.", checkDescriptors},
	{"disk_failed", []Severity{Critical}, "A member's data directory failed: it takes part no longer.", checkDisks},
	{"epoch_ends", []Severity{Critical, Warning}, "The epoch of a sequencer ends within two years (critical: 90 days).",
		checkEpochs},
	{"foreign_grid", []Severity{Warning}, "Members of another grid of the same name were met.", checkForeign},
	{"ids_begin_later", []Severity{Warning}, "No ID can be issued yet: those of an earlier run, or of lost members, may reach up to a later time.", checkBeginning},
	{"member_down", []Severity{Warning}, "Gossip does not see a member alive, or it did not answer.", checkDown},
	{"member_not_ready", []Severity{Warning}, "A member answers and is not ready.", checkReadiness},
	{"members_apart", []Severity{Warning}, "Two members do not reach each other, while the leader reaches both.",
		checkApart},
	{"members_missing", []Severity{Warning}, "The grid has fewer members than it was formed with, or than a member's configuration expects.", checkMissing},
	{"mixed_versions", []Severity{Info}, "Members run different releases.", checkReleases},
	{"nodes_used", []Severity{Critical, Warning},
		"More than 80 % of a sequencer's logical nodes are attached (critical: all).", checkNodes},
	{"partitions_unowned", []Severity{Critical}, "Partitions have no owner: nothing is attached or created in them.",
		checkOwners},
	{"quorum_at_risk", []Severity{Warning}, "The loss of one more voter loses the majority.", checkQuorumMargin},
	{"quorum_lost", []Severity{Critical}, "The voters that are alive are not a majority, or no member leads.",
		checkQuorum},
	{"seeds_unresolved", []Severity{Warning}, "An entry of a member's Config.Join (--join) has led to no address for a minute.", checkSeeds},
	{"too_few_members", []Severity{Warning, Info}, "There are fewer members than the configured copies of a partition.",
		checkMembers},
	{"udp_blocked", []Severity{Warning}, "Members answer gossip over TCP alone: UDP is blocked between them.", checkUDP},
}

// AlertKinds returns every kind of alert, by name.
func AlertKinds() []AlertKind { return slices.Clone(alertKinds) }

// Alerts returns the states of a grid that need an operator's attention, the most urgent first and
// then by name; at most one per kind. One member's own status ([Member.Status]) contains less than
// the whole grid's.
func Alerts(s Status) []Alert {
	out := []Alert{}
	for _, kind := range alertKinds {
		if severity, text := kind.check(s); text != "" {
			out = append(out, Alert{Name: kind.Name, Severity: severity, Text: text})
		}
	}
	slices.SortStableFunc(out, func(a, b Alert) int { return cmp.Compare(a.Severity.rank(), b.Severity.rank()) })
	return out
}

// Degraded reports whether any alert needs an operator: a severity of Warning or Critical.
func Degraded(alerts []Alert) bool {
	return slices.ContainsFunc(alerts, func(a Alert) bool { return a.Severity != Info })
}
