package openapi

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/snowgrid/snowgrid/internal/membership"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
)

// tags group the calls.
var tags = []object{
	{"name": "ids", "description": "IDs for programs in any language"},
	{"name": "grid", "description": "Health, state and settings"},
	{"name": "sequencers", "description": "Sequencers and their holders"},
	{"name": "numbers", "description": "Numbers for processes"},
	{"name": "membership", "description": "Paths as in the gossip membership service that snowgrid replaces"},
}

// operations returns the documented calls. status is the type of the reply to GET /v1/status, nil if the
// caller needs only paths and methods.
func operations(status reflect.Type) []operation {
	return slices.Concat(idOperations, gridOperations(status), sequencerOperations, numberOperations,
		membershipOperations)
}

var idOperations = []operation{
	{method: http.MethodPost, path: wire.PathIDs, id: "createIDs", tag: "ids", summary: "New IDs from a sequencer",
		in: reflect.TypeFor[wire.IDsRequest](), replies: ok[wire.IDsResponse]("The IDs.")},
	{method: http.MethodPost, path: wire.PathGrants, id: "renewGrant", tag: "ids",
		summary: "A grant for a generator in any language, or its renewal",
		in:      reflect.TypeFor[wire.GrantRequest](), replies: ok[wire.GrantResponse]("The grant.")},
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
		{method: http.MethodPost, path: wire.PathSettings, id: "changeSettings", tag: "grid",
			summary: "The grid's settings, and changes, for which callers need the role admin",
			in:      reflect.TypeFor[wire.SettingsRequest](), replies: ok[wire.SettingsResponse]("The settings.")},
	}
}

var sequencerOperations = []operation{
	{method: http.MethodGet, path: wire.PathSequencers, id: "listSequencers", tag: "sequencers",
		summary: "Sequencers by name, a page at a time", query: []string{"prefix", "after", "limit", "busiest", "destroyed"},
		queried: reflect.TypeFor[wire.SequencersRequest](), replies: ok[wire.SequencersResponse]("The page.")},
	{method: http.MethodPost, path: wire.PathSequencers, id: "postSequencers", tag: "sequencers",
		summary: "Sequencers by name, a page at a time", in: reflect.TypeFor[wire.SequencersRequest](),
		replies: ok[wire.SequencersResponse]("The page.")},
	{method: http.MethodGet, path: wire.PathHolders, id: "listHolders", tag: "sequencers",
		summary: "A sequencer's holders, a page at a time", query: []string{"name", "after", "limit"},
		queried: reflect.TypeFor[wire.HoldersRequest](), replies: ok[wire.HoldersResponse]("The page.")},
	{method: http.MethodPost, path: wire.PathHolders, id: "postHolders", tag: "sequencers",
		summary: "A sequencer's holders, a page at a time", in: reflect.TypeFor[wire.HoldersRequest](),
		replies: ok[wire.HoldersResponse]("The page.")},
	{method: http.MethodPost, path: wire.PathDestroy, id: "destroySequencer", tag: "sequencers",
		summary: "Destroy a sequencer for all holders", in: reflect.TypeFor[wire.DestroyRequest](),
		replies: ok[wire.Done]("It is destroyed.")},
}

var numberOperations = []operation{
	{method: http.MethodGet, path: wire.PathIdentity, id: "listNumbers", tag: "numbers",
		summary: "Sets of numbers, and one set's processes", query: []string{"cluster", "name", "after"},
		queried: reflect.TypeFor[wire.IdentityListRequest](), replies: ok[wire.IdentityListResponse]("The sets.")},
	{method: http.MethodPost, path: wire.PathIdentity, id: "postNumbers", tag: "numbers",
		summary: "Sets of numbers, and one set's processes", in: reflect.TypeFor[wire.IdentityListRequest](),
		replies: ok[wire.IdentityListResponse]("The sets.")},
	{method: http.MethodPost, path: wire.PathIdentityNext, id: "nextNumber", tag: "numbers",
		summary: "A set's next number", in: reflect.TypeFor[wire.IdentityNextRequest](),
		replies: ok[wire.IdentityNextResponse]("The number; it is not allocated.")},
	{method: http.MethodPost, path: wire.PathIdentityApply, id: "applyForNumber", tag: "numbers",
		summary: "Apply for a number in a set", in: reflect.TypeFor[wire.IdentityApplyRequest](),
		replies: ok[wire.IdentityApplyResponse]("The process has the number.")},
	{method: http.MethodPost, path: wire.PathIdentityRegister, id: "registerNumber", tag: "numbers",
		summary: "Register a process under its number", in: reflect.TypeFor[wire.IdentityRegisterRequest](),
		replies: ok[wire.IdentityRegisterResponse]("The registration.")},
	{method: http.MethodPost, path: wire.PathIdentityClean, id: "cleanNumbers", tag: "numbers",
		summary: "Remove the numbers whose processes are gone", in: reflect.TypeFor[wire.IdentityCleanRequest](),
		replies: ok[wire.IdentityCleanResponse]("The removed numbers.")},
	{method: http.MethodPost, path: wire.PathIdentityDrop, id: "dropNumbers", tag: "numbers",
		summary: "Remove a set without numbers", in: reflect.TypeFor[wire.IdentityDropRequest](),
		replies: ok[wire.IdentityDropResponse]("The set is removed.")},
	{method: http.MethodPost, path: wire.PathIdentityImport, id: "importNumbers", tag: "numbers",
		summary: "Raise a set's next number, and import numbers", in: reflect.TypeFor[wire.IdentityImportRequest](),
		replies: ok[wire.IdentityImportResponse]("The set after it.")},
}

// LeavingNode is the part of a [membership.Node] that a member reads which is to leave.
type LeavingNode struct {
	ID string `json:"id,omitempty"`
}

var membershipOperations = []operation{
	{method: http.MethodGet, path: membership.PathSize, id: "countMembers", tag: "membership",
		summary: "The number of members that gossip sees", replies: ok[int]("The number.")},
	{method: http.MethodGet, path: membership.PathNodes, id: "listMembers", tag: "membership",
		summary: "The members that gossip sees", replies: ok[[]membership.Node]("The members, ascending by id.")},
	{method: http.MethodPost, path: membership.PathSubscribe, id: "subscribe", tag: "membership",
		summary: "Join the member at an address", in: reflect.TypeFor[membership.Node](),
		replies: ok[membership.Subscribed]("The members after it.")},
	{method: http.MethodPost, path: membership.PathUnsubscribe, id: "unsubscribe", tag: "membership",
		summary: "Have this member leave the grid, and end", in: reflect.TypeFor[LeavingNode](), bodyless: true,
		replies: ok[bool]("true: it leaves.")},
}

// private are the paths of Go clients, which change with a release, of the commands of snowgrid, and for
// debugging.
var private = []string{
	wire.PathCreate, wire.PathOpen, wire.PathAttach, wire.PathRenew, wire.PathDetach, wire.PathEvents,
	wire.PathDirectory, frame.Path, wire.PathKeyring, wire.PathUnused, membership.PathState, membership.PathPause,
	membership.PathShutdown,
}

// IsPrivate reports whether a path is not for programs in any language, so that the document lacks it.
func IsPrivate(path string) bool {
	return strings.HasPrefix(path, "/v1/member/") || slices.Contains(private, path)
}
