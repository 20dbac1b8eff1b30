package main

import (
	"strings"

	"github.com/snowgrid/snowgrid/grid"
)

// callNames maps incarnations to member names for narrow columns. A member without a unique name is
// called by its ID.
type callNames map[string]string

func callNamesOf(members []grid.MemberInfo) callNames {
	count := map[string]int{}
	for _, m := range members {
		count[m.Name]++
	}
	names := callNames{}
	for _, m := range members {
		if count[m.Name] == 1 {
			names[m.Incarnation] = m.Name
		}
	}
	return names
}

// of returns one member's name, "-" for none.
func (n callNames) of(inc string) string { return called(n[inc], inc) }

// list returns several members' names except one, "-" for none.
func (n callNames) list(members []string, except string) string {
	var out []string
	for _, inc := range members {
		if inc != except {
			out = append(out, n.of(inc))
		}
	}
	return orNone(strings.Join(out, " "))
}
