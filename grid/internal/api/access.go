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

// access is the permission that the caller of a path needs.
type access struct {
	// action is authorized before the request is read.
	action security.Action
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
	onGet("/"):                  {action: security.Health},
	onGet("/livez"):             {action: security.Health},
	onGet("/readyz"):            {action: security.Health},
	onGet(frame.Path):           {action: security.Directory}, // each request in frames is authorized by its own row too
	onGet(wire.PathSettled):     {action: security.Status},
	onGet(wire.PathDocument):    {action: security.Status}, // it has the build's version
	onGet(wire.PathStatus):      {action: security.Status},
	onPost(wire.PathStatus):     {action: security.Status},
	onPost(wire.PathDirectory):  {action: security.Directory},
	onGet(wire.PathSequencers):  {action: security.List},
	onPost(wire.PathSequencers): {action: security.List},
	onPost(wire.PathUnused):     {action: security.Destroy},
	onGet(wire.PathHolders):     about(security.List, func(in wire.HoldersRequest) string { return in.Name }),
	onPost(wire.PathHolders):    about(security.List, func(in wire.HoldersRequest) string { return in.Name }),

	onPost(wire.PathCreate): {action: security.Create, uses: usesOf(createUses)},
	onPost(wire.PathOpen):   about(security.Open, func(in wire.OpenRequest) string { return in.Name }),
	onPost(wire.PathAttach): about(security.Attach,
		func(in wire.AttachRequest) string { return in.Claim.Sequencer.Name }),
	onPost(wire.PathRenew):    {action: security.Renew},
	onPost(wire.PathDetach):   about(security.Detach, func(in wire.DetachRequest) string { return in.Sequencer.Name }),
	onPost(wire.PathDestroy):  about(security.Destroy, func(in wire.DestroyRequest) string { return in.Name }),
	onPost(wire.PathEvents):   {action: security.Events},
	onPost(wire.PathGrants):   {action: security.Attach, uses: usesOf(grantUses)},
	onDelete(wire.PathGrants): {action: security.Detach}, // the host authorizes the sequencer, which is in the grant
	onPost(wire.PathIDs):      {action: security.IDs, uses: usesOf(idsUses)},

	onGet(wire.PathIdentity):      {action: security.Status},
	onPost(wire.PathIdentity):     {action: security.Status},
	onPost(wire.PathIdentityNext): about(security.Number, func(in wire.IdentityNextRequest) string { return in.Name }),
	onPost(
		wire.PathIdentityApply): about(security.Number, func(in wire.IdentityApplyRequest) string { return in.Name }),
	onPost(wire.PathIdentityRegister): about(security.Number,
		func(in wire.IdentityRegisterRequest) string { return in.Name }),
	onPost(wire.PathIdentityClean):  {action: security.CleanNumbers},
	onPost(wire.PathIdentityDrop):   {action: security.CleanNumbers},
	onPost(wire.PathIdentityImport): {action: security.ImportNumbers},

	onGet(membership.PathSize):         {action: security.List},
	onGet(membership.PathNodes):        {action: security.List},
	onPost(membership.PathSubscribe):   {action: security.Subscribe},
	onPost(membership.PathUnsubscribe): {action: security.Unsubscribe},
	onGet(membership.PathState):        {action: security.Debug},
	onPost(membership.PathPause):       {action: security.Debug},
	onPost(membership.PathShutdown):    {action: security.Debug},

	onPost(wire.PathSettings): {action: security.Status, uses: usesOf(settingsUses)},
	onPost(wire.PathKeyring):  {action: security.Keyring},
	onPost(wire.PathForget):   {action: security.Forget},
	onPost(wire.PathRemove):   {action: security.Remove},
	onPost(wire.PathTake):     {action: security.TakeAnchor},
	onPost(wire.PathInit):     {action: security.Init},

	onPost(wire.PathHello):     {action: security.Hello},
	onPost(wire.PathPush):      {action: security.Push},
	onPost(wire.PathFollow):    {action: security.Follow},
	onPost(wire.PathAccept):    {action: security.Accept},
	onPost(wire.PathJoin):      {action: security.Join},
	onPost(wire.PathLeave):     {action: security.Leave},
	onPost(wire.PathDismiss):   {action: security.Dismiss},
	onPost(wire.PathEarlier):   {action: security.Earlier},
	onPost(wire.PathReplicate): {action: security.Replicate},
	onPost(wire.PathHeld):      {action: security.Held},
	onPost(wire.PathStored):    {action: security.Stored},
	onPost(wire.PathCollect):   {action: security.Collect},
	onPost(wire.PathCount):     {action: security.Count},
	onPost(wire.PathAbandon):   {action: security.Abandon},
	onPost(wire.PathSetKeys):   {action: security.SetKeys},

	// The owner authorizes the first caller (grid/internal/host/createattach.go).
	onPost(wire.PathRelayCreate):  {action: security.Relay},
	onPost(wire.PathRelayGrant):   {action: security.Relay},
	onPost(wire.PathRelayRenewal): {action: security.Relay},
}

// onGet, onPost and onDelete return a row's key.
func onGet(path string) string    { return http.MethodGet + " " + path }
func onPost(path string) string   { return http.MethodPost + " " + path }
func onDelete(path string) string { return http.MethodDelete + " " + path }

// about returns the row of a path that takes one sequencer per request.
func about[In any](action security.Action, name func(In) string) access {
	return access{action: action, uses: usesOf(func(in In) []use { return []use{{action, name(in)}} })}
}

// usesOf adapts a function from its request type.
func usesOf[In any](uses func(In) []use) func(any) []use {
	return func(in any) []use { return uses(in.(In)) }
}

// createUses returns the uses of a request to create a sequencer, which may attach too.
func createUses(in wire.CreateRequest) []use {
	out := []use{{security.Create, in.Name}}
	if in.Attach != nil {
		out = append(out, use{security.Attach, in.Name})
	}
	return out
}

// idsUses returns the uses of a request for IDs, which may create the sequencer.
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

// settingsUses distinguishes changing settings from reading them.
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

// accessOf returns the row for a request's path and method.
func accessOf(method, path string) (access, bool) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	row, found := accesses[method+" "+path]
	return row, found
}
