package api

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/snowgrid/snowgrid/internal/membership"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
)

// purposes describes each API path in a line. A test fails for a served path without one.
var purposes = map[string]string{
	"/":       "this list",
	"/livez":  "whether the process runs",
	"/readyz": "whether the member should get traffic; ?verbose lists each condition",

	wire.PathIDs:        "new IDs of a sequencer, for programs in any language",
	wire.PathGrants:     "grant for a generator in any language; DELETE releases it",
	wire.PathCreate:     "create a sequencer, or open the one so defined; attach if asked",
	wire.PathOpen:       "open a sequencer that exists",
	wire.PathDestroy:    "destroy a sequencer for all holders",
	wire.PathAttach:     "take a logical node of a sequencer",
	wire.PathRenew:      "renew the grants of a holder",
	wire.PathDetach:     "give a logical node back",
	wire.PathEvents:     "stream of the sequencers of a holder that are destroyed",
	frame.Path:          "calls and events of Go processes, by an upgrade of the connection",
	wire.PathDirectory:  "members, and the owner of each partition",
	wire.PathStatus:     "state of the grid as this member sees it",
	wire.PathDocument:   "OpenAPI document of the calls for programs in any language",
	wire.PathSettled:    "whether an orderly stop of one more member loses nothing",
	wire.PathSequencers: "sequencers of the grid by name, a page at a time",
	wire.PathUnused:     "unused sequencers, and their removal (snowgrid sequencers remove)",
	wire.PathHolders:    "holders of a sequencer, a page at a time",

	wire.PathIdentity:         "numbers of processes by cluster and set",
	wire.PathIdentityNext:     "next number of a set",
	wire.PathIdentityApply:    "apply for a number of a set",
	wire.PathIdentityRegister: "register a process under its number",
	wire.PathIdentityDrop:     "remove a set without numbers",
	wire.PathIdentityClean:    "remove numbers of processes that are gone",
	wire.PathIdentityImport:   "raise the next number of a set",

	membership.PathSize:        "number of members that gossip sees",
	membership.PathNodes:       "members that gossip sees, with their addresses",
	membership.PathSubscribe:   "join the member at an address",
	membership.PathUnsubscribe: "have this member leave the grid, and end",
	membership.PathState:       "members that gossip suspects or cannot reach, for debugging",
	membership.PathPause:       "pause gossip, Raft and calls between members, for debugging",
	membership.PathShutdown:    "end this member without a goodbye, for debugging",

	wire.PathSettings: "settings of the grid, and changes of them (snowgrid settings)",

	wire.PathKeyring: "keys of the gossip, and changes of them (snowgrid keyring)",

	wire.PathForget: "forget the disk of a member that is gone for good (snowgrid forget)",
	wire.PathRemove: "take a member out of the grid (snowgrid members remove)",
	wire.PathTake:   "take the grid's anchor (snowgrid take-anchor)",
	wire.PathInit:   "recover a memory-only grid (snowgrid init)",

	wire.PathHello:     "view of a member, for other members",
	wire.PathPush:      "changes of the roster, from the leader",
	wire.PathFollow:    "a member without a vote asks the leader for changes of the roster",
	wire.PathAccept:    "accept the formation of a grid, for other members",
	wire.PathJoin:      "join the grid, for other members",
	wire.PathLeave:     "leave the grid, for other members",
	wire.PathDismiss:   "a member that an operator takes out, for the leader",
	wire.PathEarlier:   "grant of an earlier life of the grid, for other members",
	wire.PathReplicate: "changes of a partition's table, for its replicas",
	wire.PathHeld:      "reports of owners to the leader",
	wire.PathStored:    "definitions that are on disk, for the owner",
	wire.PathCollect:   "definitions on the disk of a member, for the owner",
	wire.PathSetKeys:   "keys of the gossip of this member, for other members",
	wire.PathCount:     "number of sequencers of a member, for other members",
	wire.PathAbandon:   "leave a grid that is being recovered, for other members",

	wire.PathRelayCreate:  "create and attach for a caller of another member, for the owner",
	wire.PathRelayGrant:   "grant for a caller of another member, for the owner",
	wire.PathRelayRenewal: "renewal or release of such a grant, for the owner",
}

// handleIndex returns the handler that lists the paths of the API, with their methods and a
// line about each.
func (a *Server) handleIndex(t *routes) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var out wire.IndexResponse
		for _, path := range slices.SortedFunc(maps.Keys(t.handlers), comparePaths) {
			if t.local[path] && !isLocal(r) {
				continue
			}
			var methods []string
			for _, method := range slices.Sorted(maps.Keys(t.handlers[path])) {
				if method != http.MethodHead {
					methods = append(methods, method)
				}
			}
			out.Paths = append(out.Paths, wire.PathInfo{Path: path, Methods: methods, About: purposes[path]})
		}
		if wantsJSON(r) {
			a.answer(w, wire.JSON, http.StatusOK, out)
			return
		}
		var text strings.Builder
		text.WriteString("snowgrid: the API of a member\n\n")
		table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
		for _, p := range out.Paths {
			fmt.Fprintf(table, "%s\t%s\t%s\n", strings.Join(p.Methods, ","), p.Path, p.About)
		}
		_ = table.Flush() // a strings.Builder takes everything
		plain(w, http.StatusOK, strings.TrimSuffix(text.String(), "\n"))
	}
}

// comparePaths orders paths by name, those between members last.
func comparePaths(a, b string) int {
	const members = "/v1/member/"
	switch inA, inB := strings.HasPrefix(a, members), strings.HasPrefix(b, members); {
	case inA && !inB:
		return 1
	case inB && !inA:
		return -1
	}
	return strings.Compare(a, b)
}
