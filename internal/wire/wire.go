// Package wire defines the messages between snowgrid's processes: the HTTP API and the calls between
// members, with their two encodings, their limits, and error codes.
//
// Each call is POST /v1/... with one value as the body and one as the reply, encoded in msgpack
// (between Go processes) or JSON (for any other client) as Content-Type states. Field names are the
// same in both. Times are Unix milliseconds.
package wire

// API paths.
const (
	PathCreate    = "/v1/create"
	PathOpen      = "/v1/open"
	PathAttach    = "/v1/attach"
	PathRenew     = "/v1/renew"
	PathDetach    = "/v1/detach"
	PathDestroy   = "/v1/destroy"
	PathEvents    = "/v1/events"
	PathDirectory = "/v1/directory"
	PathStatus    = "/v1/status"
	PathSettled   = "/v1/settled"      // GET only
	PathDocument  = "/v1/openapi.json" // GET only
	PathIDs       = "/v1/ids"
)

// Paths of the numbers of processes (identity.go). Any member serves them; they are
// forwarded to the leader. PathIdentity is also served for GET, with the fields of
// IdentityListRequest as parameters.
const (
	PathIdentity         = "/v1/identity"
	PathIdentityNext     = "/v1/identity/next"
	PathIdentityApply    = "/v1/identity/apply"
	PathIdentityRegister = "/v1/identity/register"
	PathIdentityClean    = "/v1/identity/clean"
	PathIdentityDrop     = "/v1/identity/drop"
	PathIdentityImport   = "/v1/identity/import"
)

// Paths for calls between members.
const (
	PathHello     = "/v1/member/hello"
	PathAccept    = "/v1/member/accept"
	PathJoin      = "/v1/member/join"
	PathLeave     = "/v1/member/leave"
	PathEarlier   = "/v1/member/earlier"
	PathReplicate = "/v1/member/replicate"
	PathHeld      = "/v1/member/held"
	PathStored    = "/v1/member/stored"
	PathCollect   = "/v1/member/collect"
	PathForget    = "/v1/member/forget"
	PathRemove    = "/v1/member/remove"
	PathDismiss   = "/v1/member/dismiss"
	PathTake      = "/v1/member/take-anchor"
	PathInit      = "/v1/member/init"
	PathAbandon   = "/v1/member/abandon"
)

// Headers with the address in a call between members: a member refuses calls for another grid or
// another incarnation.
const (
	HeaderGrid   = "Snowgrid-Grid"
	HeaderTarget = "Snowgrid-Target"
	HeaderClaim  = "Snowgrid-Claim" // an anchored grid's, by the caller's roster
)

// HeaderTimeout is the caller's time limit in milliseconds. A member drops requests that it could not
// start within it.
const HeaderTimeout = "Snowgrid-Timeout-Ms"

// Content types.
const (
	MsgPack = "application/msgpack"
	JSON    = "application/json"
)

// Limits for received messages.
const (
	MaxBody    = 1 << 20 // bytes in one request or reply
	maxEvent   = 4 << 10 // bytes in one event
	MaxClaims  = 2048    // attachments in one renewal
	MaxIDs     = 1024    // IDs in one POST /v1/ids
	MaxUsed    = 64      // sequencers with usage in one renewal
	MaxHolder  = 64      // bytes in a holder ID
	MaxMembers = 10000   // members in one directory

	// MaxElements limits the elements in any list or map, so that a small body does not become a large value.
	MaxElements = 10000
)

// MaxCalls is the maximum number of concurrent calls that a member allows on one connection over
// HTTP/2, and of requests to replicate that a member has in progress at another.
const MaxCalls = 8
