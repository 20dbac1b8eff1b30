package api

import (
	"maps"
	"net/http"
	"slices"

	"github.com/snowgrid/snowgrid/internal/membership"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
	"github.com/snowgrid/snowgrid/security"
)

// access is the permission that the caller of a path needs, and what the path is for.
type access struct {
	// action is authorized before the request is read.
	action security.Action
	// about describes the path in a line. Of several methods of a path one has it.
	about string
	// uses returns the sequencers named by a decoded request, and the action on each; each is authorized
	// before the request is served. nil if the request names none.
	uses func(in any) []use
}

// use is an action on the sequencer of a name, or on the grid if that is "".
type use struct {
	action security.Action
	name   string
}

// accesses has a row for each served path and method. A path without a row is refused to every caller.
// GET includes HEAD.
//
// The host authorizes each sequencer in a renewal separately (grid/internal/host/renew.go), since a
// denied one must not fail the others.
var accesses = map[string]access{
	onGet("/"):       row(security.Health, "this list"),
	onGet("/livez"):  row(security.Health, "whether the process runs"),
	onGet("/readyz"): row(security.Health, "whether the member should get traffic; ?verbose lists each condition"),
	// Each request in frames is authorized by its own row too.
	onGet(frame.Path):       row(security.Directory, "calls and events of Go processes, by an upgrade of the connection"),
	onGet(wire.PathSettled): row(security.Status, "whether an orderly stop of one more member loses nothing"),
	// The document has the build's version.
	onGet(wire.PathDocument):    row(security.Status, "OpenAPI document of the calls for programs in any language"),
	onGet(wire.PathStatus):      row(security.Status, "state of the grid as this member sees it"),
	onPost(wire.PathStatus):     row(security.Status, ""),
	onPost(wire.PathDirectory):  row(security.Directory, "members, and the owner of each partition"),
	onGet(wire.PathSequencers):  row(security.List, "sequencers of the grid by name, a page at a time"),
	onPost(wire.PathSequencers): row(security.List, ""),
	onPost(wire.PathUnused): row(security.Destroy,
		"unused sequencers, and their removal (snowgrid sequencers remove)"),
	onGet(wire.PathHolders): ofOne(security.List, "holders of a sequencer, a page at a time",
		func(in wire.HoldersRequest) string { return in.Name }),
	onPost(wire.PathHolders): ofOne(security.List, "", func(in wire.HoldersRequest) string { return in.Name }),

	onPost(wire.PathCreate): row(security.Create, "create a sequencer, or open the one so defined; attach if asked",
		usesOf(createUses)),
	onPost(wire.PathOpen): ofOne(security.Open, "open a sequencer that exists",
		func(in wire.OpenRequest) string { return in.Name }),
	onPost(wire.PathAttach): ofOne(security.Attach, "take a logical node of a sequencer",
		func(in wire.AttachRequest) string { return in.Claim.Sequencer.Name }),
	onPost(wire.PathRenew): row(security.Renew, "renew the grants of a holder"),
	onPost(wire.PathDetach): ofOne(security.Detach, "give a logical node back",
		func(in wire.DetachRequest) string { return in.Sequencer.Name }),
	onPost(wire.PathDestroy): ofOne(security.Destroy, "destroy a sequencer for all holders",
		func(in wire.DestroyRequest) string { return in.Name }),
	onPost(wire.PathEvents): row(security.Events, "stream of the sequencers of a holder that are destroyed"),
	onPost(wire.PathGrants): row(security.Attach, "grant for a generator in any language; DELETE releases it",
		usesOf(grantUses)),
	onDelete(wire.PathGrants): row(security.Detach, ""), // the host authorizes the sequencer, which is in the grant
	onPost(wire.PathIDs): row(security.IDs, "new IDs of a sequencer, for programs in any language",
		usesOf(idsUses)),

	onGet(wire.PathIdentity):  row(security.Status, "numbers of processes by cluster and set"),
	onPost(wire.PathIdentity): row(security.Status, ""),
	onPost(wire.PathIdentityNext): ofOne(security.Number, "next number of a set",
		func(in wire.IdentityNextRequest) string { return in.Name }),
	onPost(wire.PathIdentityApply): ofOne(security.Number, "apply for a number of a set",
		func(in wire.IdentityApplyRequest) string { return in.Name }),
	onPost(wire.PathIdentityRegister): ofOne(security.Number, "register a process under its number",
		func(in wire.IdentityRegisterRequest) string { return in.Name }),
	onPost(wire.PathIdentityClean):  row(security.CleanNumbers, "remove numbers of processes that are gone"),
	onPost(wire.PathIdentityDrop):   row(security.CleanNumbers, "remove a set without numbers"),
	onPost(wire.PathIdentityImport): row(security.ImportNumbers, "raise the next number of a set"),

	onGet(membership.PathSize):         row(security.List, "number of members that gossip sees"),
	onGet(membership.PathNodes):        row(security.List, "members that gossip sees, with their addresses"),
	onPost(membership.PathSubscribe):   row(security.Subscribe, "join the member at an address"),
	onPost(membership.PathUnsubscribe): row(security.Unsubscribe, "have this member leave the grid, and end"),
	onGet(membership.PathState):        row(security.Debug, "members that gossip suspects or cannot reach, for debugging"),
	onPost(membership.PathPause):       row(security.Debug, "pause gossip, Raft and calls between members, for debugging"),
	onPost(membership.PathShutdown):    row(security.Debug, "end this member without a goodbye, for debugging"),

	onPost(wire.PathSettings): row(security.Status, "settings of the grid, and changes of them (snowgrid settings)",
		usesOf(settingsUses)),
	onPost(wire.PathKeyring): row(security.Keyring, "keys of the gossip, and changes of them (snowgrid keyring)"),
	onPost(wire.PathForget):  row(security.Forget, "forget the disk of a member that is gone for good (snowgrid forget)"),
	onPost(wire.PathRemove):  row(security.Remove, "take a member out of the grid (snowgrid members remove)"),
	onPost(wire.PathTake):    row(security.TakeAnchor, "take the grid's anchor (snowgrid take-anchor)"),
	onPost(wire.PathInit):    row(security.Init, "recover a memory-only grid (snowgrid init)"),

	onPost(wire.PathHello):     row(security.Hello, "view of a member, for other members"),
	onPost(wire.PathPush):      row(security.Push, "changes of the roster, from the leader"),
	onPost(wire.PathFollow):    row(security.Follow, "a member without a vote asks the leader for changes of the roster"),
	onPost(wire.PathAccept):    row(security.Accept, "accept the formation of a grid, for other members"),
	onPost(wire.PathJoin):      row(security.Join, "join the grid, for other members"),
	onPost(wire.PathLeave):     row(security.Leave, "leave the grid, for other members"),
	onPost(wire.PathDismiss):   row(security.Dismiss, "a member that an operator takes out, for the leader"),
	onPost(wire.PathEarlier):   row(security.Earlier, "grant of an earlier life of the grid, for other members"),
	onPost(wire.PathReplicate): row(security.Replicate, "changes of a partition's table, for its replicas"),
	onPost(wire.PathHeld):      row(security.Held, "reports of owners to the leader"),
	onPost(wire.PathStored):    row(security.Stored, "definitions that are on disk, for the owner"),
	onPost(wire.PathCollect):   row(security.Collect, "definitions on the disk of a member, for the owner"),
	onPost(wire.PathCount):     row(security.Count, "number of sequencers of a member, for other members"),
	onPost(wire.PathAbandon):   row(security.Abandon, "leave a grid that is being recovered, for other members"),
	onPost(wire.PathSetKeys):   row(security.SetKeys, "keys of the gossip of this member, for other members"),

	// The owner authorizes the first caller (grid/internal/host/createattach.go).
	onPost(wire.PathRelayCreate):  row(security.Relay, "create and attach for a caller of another member, for the owner"),
	onPost(wire.PathRelayGrant):   row(security.Relay, "grant for a caller of another member, for the owner"),
	onPost(wire.PathRelayRenewal): row(security.Relay, "renewal or release of such a grant, for the owner"),
}

// onGet, onPost and onDelete return a row's key.
func onGet(path string) string    { return http.MethodGet + " " + path }
func onPost(path string) string   { return http.MethodPost + " " + path }
func onDelete(path string) string { return http.MethodDelete + " " + path }

func row(action security.Action, about string, uses ...func(any) []use) access {
	out := access{action: action, about: about}
	if len(uses) > 0 {
		out.uses = uses[0]
	}
	return out
}

func ofOne[In any](action security.Action, about string, name func(In) string) access {
	return access{action: action, about: about, uses: usesOf(func(in In) []use { return []use{{action, name(in)}} })}
}

func usesOf[In any](uses func(In) []use) func(any) []use {
	return func(in any) []use { return uses(in.(In)) }
}

func createUses(in wire.CreateRequest) []use {
	out := []use{{security.Create, in.Name}}
	if in.Attach != nil {
		out = append(out, use{security.Attach, in.Name})
	}
	return out
}

func idsUses(in wire.IDsRequest) []use {
	out := []use{{security.IDs, in.Name}}
	if in.Create != nil {
		out = append(out, use{security.Create, in.Name})
	}
	return out
}

// grantUses returns the uses of a first request for a grant. The host authorizes a renewal, which has its
// sequencer in the grant and costs nothing.
func grantUses(in wire.GrantRequest) (out []use) {
	if in.Grant != "" {
		return nil
	}
	for _, action := range in.Actions() {
		out = append(out, use{action, in.Name})
	}
	return out
}

func settingsUses(in wire.SettingsRequest) []use {
	if in.IsEmpty() {
		return nil
	}
	return []use{{action: security.Settings}}
}

// Rows returns each row's method and path, sorted.
func Rows() []string { return slices.Sorted(maps.Keys(accesses)) }

// ActionOf returns the action that a path's callers need, and whether the path has a row.
func ActionOf(method, path string) (security.Action, bool) {
	row, found := accessOf(method, path)
	return row.action, found
}

func accessOf(method, path string) (access, bool) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	row, found := accesses[method+" "+path]
	return row, found
}
