package wire

import (
	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Sequencer is one generation of a sequencer: its definition, and, unless it is zero, the
// generation that is meant.
type Sequencer struct {
	Name      string              `json:"name"`
	Epoch     int64               `json:"epoch"` // Unix ms
	Nodes     int                 `json:"nodes"`
	Layout    Layout              `json:"layout,omitempty,omitzero"`
	NodeRange NodeRange           `json:"node_range,omitempty,omitzero"`
	Life      attachment.Life     `json:"life"`
	Born      attachment.Revision `json:"born"`
}

// SequencerOf returns ref's wire form.
func SequencerOf(ref attachment.Ref) Sequencer {
	cfg := attachment.ShortConfig(ref.Definition)
	return Sequencer{
		Name: ref.Definition.Name(), Epoch: cfg.Epoch.UnixMilli(), Nodes: cfg.Nodes,
		Layout: Layout(cfg.Layout), NodeRange: NodeRange(cfg.NodeRange),
		Life: ref.Life, Born: ref.Born,
	}
}

// Ref validates and converts the wire form. Errors match sequencer.ErrInvalidConfig.
func (s Sequencer) Ref() (attachment.Ref, error) {
	def, err := sequencer.Define(s.Name, sequencer.Config{
		Epoch: epoch.UnixMilli(s.Epoch), Nodes: s.Nodes, Layout: sequencer.Layout(s.Layout),
		NodeRange: sequencer.NodeRange(s.NodeRange),
	})
	if err != nil {
		return attachment.Ref{}, err
	}
	return attachment.Ref{Definition: def, Life: s.Life, Born: s.Born}, nil
}

// Stamp is part of every owner's reply: its roster version and the cluster time.
type Stamp struct {
	Grid    roster.GridID    `json:"grid"`
	Version roster.Version   `json:"version"`
	Time    clustertime.Tick `json:"time"`
}

// CreateRequest requests a name's current generation, and starts one if there is none. Omitted
// fields have the defaults from sequencer.Config.
type CreateRequest struct {
	Name      string    `json:"name"`
	Epoch     *int64    `json:"epoch,omitempty"` // Unix ms; nil = epoch.Default, 2026
	Nodes     int       `json:"nodes"`           // 0 = the layout's
	Layout    Layout    `json:"layout,omitempty,omitzero"`
	NodeRange NodeRange `json:"node_range,omitempty,omitzero"`
	// Attach also requests a logical node of that generation, so that a process needs one call for its first
	// ID. A member that does not own the name relays the request to the owner.
	Attach *CreateAttach `json:"attach,omitempty"`
}

// CreateAttach is the part of a [CreateRequest] that requests a logical node for attachment ID, Node
// if it is given and free. Its fields are those in AttachRequest.
type CreateAttach struct {
	Holder   attachment.HolderID `json:"holder"`
	ID       attachment.ID       `json:"id"`
	Node     *sequencer.NodeID   `json:"node"`
	Previous *attachment.ID      `json:"previous,omitempty"`
	Identity *Identity           `json:"identity,omitempty"`
	About    *About              `json:"about,omitempty"`
}

// Request returns the request to attach to the life in an answer to the create.
func (a CreateAttach) Request(of SequencerResponse) AttachRequest {
	return AttachRequest{
		Holder: a.Holder, Claim: Claim{Sequencer: of.Sequencer, ID: a.ID, Node: a.Node, Grid: of.Grid, Version: of.Version},
		Previous: a.Previous, Identity: a.Identity, About: a.About,
	}
}

// Config returns the requested definition.
func (r CreateRequest) Config() sequencer.Config {
	cfg := sequencer.Config{Epoch: epoch.Default, Nodes: r.Nodes, Layout: sequencer.Layout(r.Layout),
		NodeRange: sequencer.NodeRange(r.NodeRange)}
	if r.Epoch != nil {
		cfg.Epoch = epoch.UnixMilli(*r.Epoch)
	}
	return cfg
}

// CreateRequestOf returns the request for a definition.
func CreateRequestOf(d sequencer.Definition) CreateRequest {
	cfg := attachment.ShortConfig(d)
	return CreateRequest{Name: d.Name(), Epoch: new(cfg.Epoch.UnixMilli()), Nodes: cfg.Nodes, Layout: Layout(cfg.Layout),
		NodeRange: NodeRange(cfg.NodeRange)}
}

// OpenRequest requests a name's generation.
type OpenRequest struct {
	Name string `json:"name"`
}

// SequencerResponse answers CreateRequest and OpenRequest.
type SequencerResponse struct {
	Stamp
	Sequencer Sequencer `json:"sequencer"`
	// Attached answers CreateRequest.Attach. It is nil if that was not given.
	Attached *Attached `json:"attached,omitempty"`
}

// Attached is a logical node and its grant, or the error that there is none: the sequencer
// exists in either case.
type Attached struct {
	Node  sequencer.NodeID `json:"node"`
	Grant attachment.Grant `json:"grant"`
	Error *Error           `json:"error,omitempty"`
}

// Claim is an attachment as presented by its holder; a zero ID stands for a handle without one. Grid,
// Version and Until identify its newest grant, or the last reply about the generation if there is no
// grant.
type Claim struct {
	Sequencer Sequencer         `json:"sequencer"`
	ID        attachment.ID     `json:"id"`
	Node      *sequencer.NodeID `json:"node"`
	Grid      roster.GridID     `json:"grid"`
	Version   roster.Version    `json:"version"`
	Until     clustertime.Tick  `json:"until"`
}

// AttachRequest requests a logical node for attachment Claim.ID, Claim.Node if it is given and free.
type AttachRequest struct {
	Holder attachment.HolderID `json:"holder"`
	Claim  Claim               `json:"claim"`
	// Previous is the attachment that an earlier process with the same holder had on Claim.Node.
	// The node is taken from it if it still has the node.
	Previous *attachment.ID `json:"previous,omitempty"`
	// Identity is set by a holder with a number. The owner refuses a replaced one.
	Identity *Identity `json:"identity,omitempty"`
	// About is informational: no decision uses it.
	About *About `json:"about,omitempty"`
}

// AttachResponse is a logical node and its grant.
type AttachResponse struct {
	Stamp
	Node  sequencer.NodeID `json:"node"`
	Grant attachment.Grant `json:"grant"`
}

// RenewRequest renews a holder's attachments at one owner: by partition in Sets, and individually in
// Claims if a reply did not recognize the set.
type RenewRequest struct {
	Holder attachment.HolderID `json:"holder"`
	Grid   roster.GridID       `json:"grid"` // from the replies that Sets is based on
	Sets   []ClaimSet          `json:"sets,omitempty"`
	Claims []Claim             `json:"claims,omitempty"`
	// Identity is set by a holder with a number. The owner refuses a replaced one.
	Identity *Identity `json:"identity,omitempty"`
	// Used is for metrics alone. Entries after the first MaxUsed are ignored.
	Used []Used `json:"used,omitempty"`
	// About is as in AttachRequest. One that exceeds a limit is ignored here.
	About *About `json:"about,omitempty"`
}

// Used counts the IDs that a holder has issued from a sequencer since its last report, and the calls
// that waited for a grant. A lost report is not repeated.
type Used struct {
	Name  string `json:"name"`
	IDs   uint64 `json:"ids"`
	Waits uint64 `json:"waits,omitempty"`
}

// ClaimSet has all of a holder's handles in one partition.
type ClaimSet struct {
	Partition roster.PartitionID     `json:"partition"`
	Count     int                    `json:"count"`
	Print     attachment.Fingerprint `json:"print"` // theirs, combined
}

// RenewResponse answers each set and each claim, in the same order.
type RenewResponse struct {
	Stamp
	// Sets holds the new grant ends by set. The starts are unchanged. 0 means that the owner has a
	// different set: present it by claims.
	Sets    []clustertime.Tick `json:"sets,omitempty"`
	Results []RenewResult      `json:"results,omitempty"`
	// Pace is the requested time to the next renewal in milliseconds, set by a busy member; 0 is the default.
	Pace int64 `json:"pace_ms,omitempty"`
}

// RenewResult is a grant or the error that ends it.
type RenewResult struct {
	Grant attachment.Grant `json:"grant"`
	Error *Error           `json:"error,omitempty"`
}

// DetachRequest gives an attachment back.
type DetachRequest struct {
	Holder    attachment.HolderID `json:"holder"`
	Sequencer Sequencer           `json:"sequencer"`
	ID        attachment.ID       `json:"id"`
	Node      sequencer.NodeID    `json:"node"`
	LastUsed  clustertime.Tick    `json:"last_used"` // Unix ms of the last ID, 0 = none was made
	// IDs and Waits are as in [Used], for metrics only.
	IDs   uint64 `json:"ids,omitempty"`
	Waits uint64 `json:"waits,omitempty"`
}

// DestroyRequest ends a name's life; with a zero life, whichever it has. A member that does not own the name
// relays the request to the owner.
type DestroyRequest struct {
	Name string          `json:"name"`
	Life attachment.Life `json:"life"`
	Relay
}

// Done is the response to a call without a result.
type Done struct {
	Stamp
}

// EventsRequest opens the stream with a holder's events at one owner.
type EventsRequest struct {
	Holder attachment.HolderID `json:"holder"`
}

// Event reports a generation's end to a holder, which gives up its attachment, if any, by
// DetachRequest. An event with an empty name only confirms the stream.
type Event struct {
	Name string          `json:"name"`
	Life attachment.Life `json:"life"`
}

// DirectoryRequest requests the owners. With Wait the reply is sent once Partition has an owner at
// an API address other than NotAt in the member's view, or when Wait is over. Members with the
// previous release reply immediately.
type DirectoryRequest struct {
	Partition int              `json:"partition,omitempty"`
	NotAt     string           `json:"not_at,omitempty"`
	Wait      clustertime.Span `json:"wait,omitempty"` // ms, at most MaxDirectoryWait
	// Known is the caller's directory. A member with the same one replies only with Same.
	Known *DirectoryVersion `json:"known,omitempty"`
}

// DirectoryVersion identifies a grid's directory.
type DirectoryVersion struct {
	Grid    roster.GridID  `json:"grid"`
	Version roster.Version `json:"version"`
}

// MaxDirectoryWait is the longest that a member waits with a directory.
const MaxDirectoryWait clustertime.Span = 1_000

// DirectoryResponse lists the owners. Owners[p] is an index into Members, -1 while partition p has no
// owner.
type DirectoryResponse struct {
	Stamp
	Window clustertime.Span `json:"window"` // ms
	// Same means that the caller's directory matches the stamp. Members and Owners are empty then.
	Same bool `json:"same,omitempty"`
	// Name is the grid's. Members with protocol 1 leave it empty.
	Name    string    `json:"name,omitempty"`
	Members []Address `json:"members"`
	Owners  []int     `json:"owners"`
}

// Address is a member's API address.
type Address struct {
	Incarnation roster.Incarnation `json:"incarnation"`
	API         string             `json:"api"`
}

// StatusRequest requests the status; Local omits the parts that need other members.
type StatusRequest struct {
	Local bool `json:"local"`
}

// SettledResponse reports whether an orderly stop of one more member is safe in the replying member's
// view; otherwise the HTTP status is 503.
type SettledResponse struct {
	Settled bool           `json:"settled"`
	Reason  string         `json:"reason,omitempty"` // why not
	Version roster.Version `json:"version"`          // the roster's version
}

// CheckHolder refuses, with ErrBadRequest, a holder ID that is empty or too long.
func CheckHolder(h attachment.HolderID) error {
	if len(h) == 0 || len(h) > MaxHolder {
		return failure.Errorf(ErrBadRequest,
			"grid: holder is %d bytes long; give a random name of 1 to %d bytes, one per process", len(h), MaxHolder)
	}
	return nil
}

// Layout is a [sequencer.Layout] that messages leave out if it is zero, which means 63/23/8192.
type Layout sequencer.Layout

// IsZero reports whether encoders leave l out.
func (l Layout) IsZero() bool { return l == Layout{} }

// NodeRange is a [sequencer.NodeRange] that messages leave out if it is zero, which means all nodes.
type NodeRange sequencer.NodeRange

// IsZero reports whether encoders leave r out.
func (r NodeRange) IsZero() bool { return r == NodeRange{} }
