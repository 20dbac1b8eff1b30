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

var alertKinds = []AlertKind{
	{"anchor_not_held", []Severity{Critical, Warning}, "The grid does not hold its anchor, or cannot write it.",
		checkAnchor},
	{"ceiling_low", []Severity{Critical, Warning},
		"The ceiling is ahead of cluster time by less than a third of the window: holders wait, or soon will.", checkCeiling},
	{"certificate_expires", []Severity{Critical, Warning},
		"A member's TLS certificate, or its authority, ends within 14 days (critical: 3).", checkCertificates},
	{"clock_offset", []Severity{Critical, Warning},
		"A member's wall clock is more than 1 s off cluster time (critical: 5 s).", checkClocks},
	{"copies_missing", []Severity{Warning},
		"Partitions have fewer copies in sync than configured: losing an owner could lose a table.", checkCopies},
	{"definitions_awaited", []Severity{Critical},
		"Creates, opens and destroys in some partitions wait for a stopped member's definitions.", checkAwaited},
	{"descriptors_exhausted", []Severity{Critical},
		"A member ran out of file descriptors within the last minute and accepted no connections.", checkDescriptors},
	{"disk_failed", []Severity{Critical}, "A member's data directory failed or hangs: it does not write or vote.",
		checkDisks},
	{"epoch_ends", []Severity{Critical, Warning}, "A sequencer's epoch ends within two years (critical: 90 days).",
		checkEpochs},
	{"foreign_grid", []Severity{Warning}, "Members of another grid with the same name are reachable.", checkForeign},
	{"gossip_keys_differ", []Severity{Warning},
		"Members encrypt gossip with different keys, or lack a key that others encrypt with.", checkGossipKeys},
	{"ids_begin_later", []Severity{Warning},
		"No ID can be issued yet: an earlier run, or lost members, may have issued IDs up to a later time.", checkBeginning},
	{"member_down", []Severity{Warning}, "A member fails its gossip probes, or did not answer.", checkDown},
	{"member_not_ready", []Severity{Warning}, "A member answers, but is not ready.", checkReadiness},
	{"members_apart", []Severity{Warning}, "Two members do not reach each other, while the leader reaches both.",
		checkApart},
	{"members_missing", []Severity{Warning},
		"The grid has fewer members than it was formed with, or than a member's configuration expects.", checkMissing},
	{"mixed_versions", []Severity{Info}, "Members run different releases.", checkReleases},
	{"nodes_used", []Severity{Critical, Warning},
		"More than 80 % of a sequencer's logical nodes are attached (critical: all).", checkNodes},
	{"partitions_unowned", []Severity{Critical}, "Partitions have no owner: nothing is attached or created in them.",
		checkOwners},
	{"quorum_at_risk", []Severity{Warning}, "Losing one more voter loses the majority.", checkQuorumMargin},
	{"quorum_lost", []Severity{Critical}, "The grid has no leader, or this member receives no commits.",
		checkQuorum},
	{"seeds_unresolved", []Severity{Warning}, "An entry in a member's Config.Join (--join) has not resolved for a minute.",
		checkSeeds},
	{"too_few_members", []Severity{Warning, Info},
		"There are fewer members than the copies configured for each partition.",
		checkMembers},
	{"udp_blocked", []Severity{Warning}, "Members answer gossip only over TCP: UDP is blocked between them.", checkUDP},
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
