package grid

import (
	"slices"
	"strings"
)

// checkSeeds looks for members with entries of Config.Join that do not lead to an address. The answering
// member may be in no grid yet.
func checkSeeds(s Status) (Severity, string) {
	var unresolved []string
	note := func(who string, entries []string) {
		if len(entries) > 0 {
			unresolved = append(unresolved, who+": "+strings.Join(entries, ", "))
		}
	}
	for _, m := range s.Members {
		if m.Report != nil {
			note(m.who(), m.Report.UnresolvedJoin)
		}
	}
	if !slices.ContainsFunc(s.Members, func(m MemberInfo) bool { return m.Incarnation == s.Answering }) {
		note(MemberInfo{Name: s.AnsweringName, Incarnation: s.Answering}.who(), s.UnresolvedJoin)
	}
	return about(unresolved, Warning, "join addresses have not resolved for a minute: %s; correct them in Config.Join "+
		"(--join), or restore the DNS records or files: a member that starts may not find the grid",
		subjects(unresolved))
}
