package openapi

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"

	"github.com/snowgrid/snowgrid/internal/membership"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// tags group the calls.
var tags = []object{
	{"name": "ids", "description": "IDs for programs in any language"},
	{"name": "grid", "description": "Health, state and settings"},
	{"name": "sequencers", "description": "Sequencers and their holders"},
	{"name": "numbers", "description": "Numbers for processes"},
	{"name": "membership", "description": "Paths as in the gossip membership service that snowgrid replaces"},
}

// operations returns the documented calls. status is the type of the reply to GET /v1/status, nil if it is not served.
func operations(status reflect.Type) []operation {
	return slices.Concat(idOperations, gridOperations(status), sequencerOperations, numberOperations,
		membershipOperations)
}

// post returns a call with the body In and the reply Out.
func post[In, Out any](path, id, tag, summary, about string) operation {
	return operation{method: http.MethodPost, path: path, id: id, tag: tag, summary: summary,
		in: reflect.TypeFor[In](), replies: ok[Out](about)}
}

// list returns a call in two forms: as a GET with fields of In in the query, and as a POST.
func list[In, Out any](path, what, tag, summary, about string, query ...string) []operation {
	get := operation{method: http.MethodGet, path: path, id: "list" + what, tag: tag, summary: summary, query: query,
		queried: reflect.TypeFor[In](), replies: ok[Out](about)}
	return []operation{get, post[In, Out](path, "post"+what, tag, summary, about)}
}

var idOperations = []operation{
	post[wire.IDsRequest, wire.IDsResponse](wire.PathIDs, "createIDs", "ids", "New IDs from a sequencer", "The IDs."),
	post[wire.GrantRequest, wire.GrantResponse](wire.PathGrants, "renewGrant", "ids",
		"A grant for a generator in any language, or its renewal", "The grant."),
	{method: http.MethodDelete, path: wire.PathGrants, id: "releaseGrant", tag: "ids", summary: "Release a grant",
		in: reflect.TypeFor[wire.GrantRelease](), replies: ok[wire.GrantReleased]("The grant is released.")},
}

// gridOperations are the calls about the whole grid.
func gridOperations(status reflect.Type) []operation {
	state := []answer{{status: http.StatusOK, about: "The state."}}
	if status != nil {
		state[0].of = []reflect.Type{status}
	}
	ready := []reflect.Type{reflect.TypeFor[wire.ReadyResponse]()}
	settled, failed := reflect.TypeFor[wire.SettledResponse](), reflect.TypeFor[wire.Error]()
	return []operation{
		{method: http.MethodGet, path: "/", id: "listPaths", tag: "grid", summary: "The paths that this member serves",
			replies: []answer{{status: http.StatusOK, about: "The paths; as JSON for a caller that accepts it.", text: true,
				of: []reflect.Type{reflect.TypeFor[wire.IndexResponse]()}}}},
		{method: http.MethodGet, path: wire.PathDocument, id: "getDocument", tag: "grid",
			summary: "This document", cached: true, replies: ok[json.RawMessage]("An OpenAPI 3.1 document.")},
		{method: http.MethodGet, path: "/livez", id: "isAlive", tag: "grid", summary: "Whether the process runs",
			replies: []answer{{status: http.StatusOK, about: "It does.", text: true}}},
		{method: http.MethodGet, path: "/readyz", id: "isReady", tag: "grid", summary: "Whether IDs can be issued now",
			flag: "verbose", flagAbout: "Lists each condition, as JSON for a caller that accepts it.",
			replies: []answer{{status: http.StatusOK, about: "They can.", text: true, of: ready},
				{status: http.StatusServiceUnavailable, about: "They cannot, with the reason.", text: true, of: ready}}},
		{method: http.MethodGet, path: wire.PathSettled, id: "isSettled", tag: "grid",
			summary: "Whether one more member can be stopped without loss",
			replies: []answer{{status: http.StatusOK, about: "It can.", of: []reflect.Type{settled}},
				{status: http.StatusServiceUnavailable, about: "It cannot, or the call failed.",
					of: []reflect.Type{settled, failed}}}},
		{method: http.MethodGet, path: wire.PathStatus, id: "getStatus", tag: "grid", summary: "The grid's state",
			replies: state},
		{method: http.MethodPost, path: wire.PathStatus, id: "postStatus", tag: "grid",
			summary: "The grid's state, or the answering member's part",
			in:      reflect.TypeFor[wire.StatusRequest](), replies: state},
		post[wire.SettingsRequest, wire.SettingsResponse](wire.PathSettings, "changeSettings", "grid",
			"The grid's settings, and changes, for which callers need the role admin", "The settings."),
	}
}

var sequencerOperations = slices.Concat(
	list[wire.SequencersRequest, wire.SequencersResponse](wire.PathSequencers, "Sequencers", "sequencers",
		"Sequencers by name, a page at a time", "The page.", "prefix", "after", "limit", "busiest", "destroyed"),
	list[wire.HoldersRequest, wire.HoldersResponse](wire.PathHolders, "Holders", "sequencers",
		"A sequencer's holders, a page at a time", "The page.", "name", "after", "limit"),
	[]operation{post[wire.DestroyRequest, wire.Done](wire.PathDestroy, "destroySequencer", "sequencers",
		"Destroy a sequencer for all holders", "It is destroyed.")},
)

var numberOperations = append(
	list[wire.IdentityListRequest, wire.IdentityListResponse](wire.PathIdentity, "Numbers", "numbers",
		"Sets of numbers, and one set's processes", "The sets.", "cluster", "name", "after"),
	post[wire.IdentityNextRequest, wire.IdentityNextResponse](wire.PathIdentityNext, "nextNumber", "numbers",
		"A set's next number", "The number; it is not allocated."),
	post[wire.IdentityApplyRequest, wire.IdentityApplyResponse](wire.PathIdentityApply, "applyForNumber", "numbers",
		"Apply for a number in a set", "The process has the number."),
	post[wire.IdentityRegisterRequest, wire.IdentityRegisterResponse](wire.PathIdentityRegister, "registerNumber",
		"numbers", "Register a process under its number", "The registration."),
	post[wire.IdentityCleanRequest, wire.IdentityCleanResponse](wire.PathIdentityClean, "cleanNumbers", "numbers",
		"Remove the numbers whose processes are gone", "The removed numbers."),
	post[wire.IdentityDropRequest, wire.IdentityDropResponse](wire.PathIdentityDrop, "dropNumbers", "numbers",
		"Remove a set without numbers", "The set is removed."),
	post[wire.IdentityImportRequest, wire.IdentityImportResponse](wire.PathIdentityImport, "importNumbers", "numbers",
		"Raise a set's next number, and import numbers", "The set after it."),
)

// LeavingNode is the part of a [membership.Node] that a member reads which is to leave.
type LeavingNode struct {
	ID string `json:"id,omitempty"`
}

var membershipOperations = []operation{
	{method: http.MethodGet, path: membership.PathSize, id: "countMembers", tag: "membership",
		summary: "The number of members that gossip sees", replies: ok[int]("The number.")},
	{method: http.MethodGet, path: membership.PathNodes, id: "listMembers", tag: "membership",
		summary: "The members that gossip sees", replies: ok[[]membership.Node]("The members, ascending by id.")},
	post[membership.Node, membership.Subscribed](membership.PathSubscribe, "subscribe", "membership",
		"Join the member at an address", "The members after it."),
	{method: http.MethodPost, path: membership.PathUnsubscribe, id: "unsubscribe", tag: "membership",
		summary: "Have this member leave the grid, and end", in: reflect.TypeFor[LeavingNode](), bodyless: true,
		replies: ok[bool]("true: it leaves.")},
}
