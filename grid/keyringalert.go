package grid

import (
	"fmt"
	"slices"
	"strings"
)

// checkGossipKeys looks for members that encrypt with a key that another member lacks, and else for members that
// encrypt with different keys. A key that encrypts nothing may be missing: a change of keys may be in progress.
func checkGossipKeys(s Status) (Severity, string) {
	var first, blind []string
	for _, m := range s.Members {
		if keys := m.gossipKeys(); len(keys) > 0 && !slices.Contains(first, keys[0]) {
			first = append(first, keys[0])
		}
	}
	for _, m := range s.Members {
		keys := m.gossipKeys()
		if lacks := without(first, keys); len(keys) > 0 && len(lacks) > 0 {
			blind = append(blind, fmt.Sprintf("%s lacks %s", m.who(), strings.Join(lacks, ", ")))
		}
	}
	switch {
	case len(first) < 2:
		return "", ""
	case len(blind) > 0:
		return Warning, fmt.Sprintf("members cannot decrypt the gossip of others: %s; install these keys again (snowgrid "+
			"keyring install), from the gossip.keys of a member that has them, and select one with `snowgrid keyring use`",
			subjects(blind))
	}
	return Warning, fmt.Sprintf("members encrypt gossip with different keys (%s); select one with `snowgrid keyring use`",
		strings.Join(first, ", "))
}

// gossipKeys returns the fingerprints of a member's gossip keys, none if unknown.
func (m MemberInfo) gossipKeys() []string {
	if m.Report == nil {
		return nil
	}
	return m.Report.GossipKeys
}
