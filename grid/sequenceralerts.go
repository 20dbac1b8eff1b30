package grid

import (
	"fmt"
	"time"
)

// Limits of alerts about sequencers.
const (
	nodesUsedPercent = 80
	epochEndsWithin  = 2 * 365 * 24 * time.Hour
	epochEndsSoon    = 90 * 24 * time.Hour
)

func (q SequencerInfo) alerts(now time.Time) bool {
	return q.usesNodes() || q.endsWithin(epochEndsWithin, now)
}

// usesNodes reports whether most of the logical nodes are attached.
func (q SequencerInfo) usesNodes() bool {
	return q.Nodes > 0 && q.Attached*100 > q.NodeRange.Count(q.Nodes)*nodesUsedPercent
}

func (q SequencerInfo) endsWithin(d time.Duration, now time.Time) bool {
	return !q.Exhausted.IsZero() && q.Exhausted.Sub(now) <= d
}

func checkNodes(s Status) (severity Severity, text string) {
	var used []string
	severity = Warning
	for _, q := range s.Sequencers {
		if !q.usesNodes() {
			continue
		}
		nodes := q.NodeRange.Count(q.Nodes)
		if q.Attached >= nodes {
			severity = Critical
		}
		used = append(used, fmt.Sprintf("%q has %d of %d attached", q.Name, q.Attached, nodes))
	}
	return about(used, severity, "more than %d %% of the logical nodes are in use: %s; release idle handles "+
		"(DetachWhenIdle), or create a sequencer with more nodes", nodesUsedPercent, subjects(used))
}

func (s Status) now() time.Time {
	if s.ClusterTime.IsZero() {
		return s.Wall
	}
	return s.ClusterTime
}

func checkEpochs(s Status) (severity Severity, text string) {
	var ends []string
	severity = Warning
	for _, q := range s.Sequencers {
		if !q.endsWithin(epochEndsWithin, s.now()) {
			continue
		}
		if q.endsWithin(epochEndsSoon, s.now()) {
			severity = Critical
		}
		ends = append(ends, fmt.Sprintf("%q on %s", q.Name, q.Exhausted.UTC().Format(time.DateOnly)))
	}
	return about(ends, severity, "epochs end within two years: %s; no IDs are issued after that: create sequencers with "+
		"new names and a later epoch", subjects(ends))
}
