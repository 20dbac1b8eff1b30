package wire

import (
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// PathGrants is the path for generators in any language (docs/grants.md): POST takes a logical node of a
// sequencer and renews its grant, DELETE releases it. Any member serves both; one that does not own the
// name relays the request to the owner: a first one by PathRelayGrant, the others by PathRelayRenewal, so that
// they do not wait behind requests that the owner is slow to decide.
const (
	PathGrants       = "/v1/grants"
	PathRelayGrant   = "/v1/member/grant"
	PathRelayRenewal = "/v1/member/grant/renew"
)

// GrantRequest takes a logical node, or renews its grant if Grant is given. A renewal creates nothing.
type GrantRequest struct {
	Name string `json:"name,omitempty"` // may be omitted with Grant
	// Grant is the newest reply's, "" at first.
	Grant string `json:"grant,omitempty"`
	// Create creates the sequencer if it does not exist, only without Grant.
	Create *IDsCreate `json:"create,omitempty"`
	// Low is a time below which the generator makes no more IDs, in Unix milliseconds; 0 = unstated. No reply
	// depends on it yet.
	Low    clustertime.Tick  `json:"low,omitempty"`
	Used   GrantUsed         `json:"used,omitempty,omitzero"`
	Labels map[string]string `json:"labels,omitempty"` // as in About
}

// GrantUsed counts the generator's IDs since its last request, and its calls that waited for a grant.
type GrantUsed struct {
	IDs   uint64 `json:"ids,omitempty"`
	Waits uint64 `json:"waits,omitempty"`
}

// Target returns the name of the sequencer in a request, from its grant if it has no name, and the
// grant. Errors match ErrBadRequest.
func (r GrantRequest) Target() (string, GrantToken, error) {
	switch {
	case r.Grant == "":
		return r.Name, GrantToken{}, nil
	case r.Create != nil:
		return r.Name, GrantToken{}, failure.Errorf(ErrBadRequest,
			"grid: create is given together with grant; omit create, since a renewal creates nothing")
	}
	t, err := ParseGrantToken(r.Grant)
	if err == nil && r.Name != "" && r.Name != t.Sequencer.Name {
		err = failure.Errorf(ErrBadRequest, "grid: name is %.80q, and the grant is for %.80q; omit the name", r.Name,
			t.Sequencer.Name)
	}
	return t.Sequencer.Name, t, err
}

// Actions returns what a caller of the request has to be allowed.
func (r GrantRequest) Actions() []security.Action {
	switch {
	case r.Grant != "":
		return []security.Action{security.Renew}
	case r.Create != nil:
		return []security.Action{security.Attach, security.Create}
	}
	return []security.Action{security.Attach}
}

// GrantResponse has everything that a generator needs. IDs are
//
//	(t - Epoch) << TimeShift | Node << NodeShift | c
//
// for each timestamp From <= t < Until and counter 0 <= c < Counters, each once. Times are Unix
// milliseconds, and all numbers are below 2^53.
type GrantResponse struct {
	Grant     string           `json:"grant"`
	Replaced  bool             `json:"replaced"` // Node is another one than in the request's grant
	Node      sequencer.NodeID `json:"node"`
	Epoch     int64            `json:"epoch"`
	TimeShift int              `json:"time_shift"`
	NodeShift int              `json:"node_shift"`
	Counters  int64            `json:"counters"`
	From      clustertime.Tick `json:"from"`
	Until     clustertime.Tick `json:"until"`
	Now       clustertime.Tick `json:"now"` // the grid's time
	RenewIn   int64            `json:"renew_in_ms"`
	Ends      int64            `json:"ends"` // no ID has this timestamp or a later one
}

// shortRenewal is the shortest time to the renewal of a short grant, unless the window is shorter than 16 of it.
const shortRenewal = clustertime.Span(1000)

// GrantResponseOf returns the reply about an attachment of a sequencer, without its token. The grant is to be
// renewed after a quarter of the window, or after pace if that is longer, less a 64th of the window: a client then
// receives the refusal of a destroyed sequencer within the quarter. A short grant is renewed after a sixteenth, and so
// is a grant that begins later; but after a quarter of its time, at least shortRenewal, if that is earlier.
// Errors match sequencer.ErrInvalidConfig.
func GrantResponseOf(s Sequencer, node sequencer.NodeID, g attachment.Grant, now clustertime.Tick,
	window, pace clustertime.Span) (GrantResponse, error) {
	ref, err := s.Ref()
	if err != nil {
		return GrantResponse{}, err
	}
	d, cfg := ref.Definition, ref.Definition.Config()
	shift := cfg.Layout.LowBits
	counters := int64(1) << shift / int64(cfg.Nodes)
	nodeShift := 0
	for int64(1)<<nodeShift < counters {
		nodeShift++
	}
	renewIn := max(window/4, pace) - window/64
	if g.From > now || g.Until.Sub(now) < window/2 {
		renewIn = min(window/16, max(g.Until.Sub(now)/4, shortRenewal))
	}
	return GrantResponse{
		Node: node, Epoch: s.Epoch, TimeShift: shift, NodeShift: nodeShift, Counters: counters,
		From: g.From, Until: g.Until, Ends: d.Exhausted().UnixMilli(), Now: now, RenewIn: int64(renewIn),
	}, nil
}

// GrantRelease releases a grant. A released grant makes no ID.
type GrantRelease struct {
	Grant string `json:"grant"`
	// Last is the timestamp of the last ID under the grant, 0 = no ID was made; nil = any in the grant.
	Last *clustertime.Tick `json:"last,omitempty"`
	Used GrantUsed         `json:"used,omitempty,omitzero"`
}

// GrantReleased answers GrantRelease.
type GrantReleased struct{}

// RelayGrantRequest is a request that was made to another member: one of Grant and Release is set.
type RelayGrantRequest struct {
	Caller  *Caller       `json:"caller,omitempty"` // nil for the member itself
	Grant   *GrantRequest `json:"grant,omitempty"`
	Release *GrantRelease `json:"release,omitempty"`
}
