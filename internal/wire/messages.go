package wire

import (
	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Sequencer is one life of a sequencer: its definition, and, unless the life is
// zero, which life of the name is meant.
type Sequencer struct {
	Name   string           `json:"name"`
	Epoch  int64            `json:"epoch"` // Unix ms
	Nodes  int              `json:"nodes"`
	Layout sequencer.Layout `json:"layout,omitempty,omitzero"`
	Life   sequencer.Life   `json:"life"`
	Born   sequencer.Birth  `json:"born"`
}

// SequencerOf returns what ref looks like on the wire.
func SequencerOf(ref sequencer.Ref) Sequencer {
	d := ref.Definition
	return Sequencer{
		Name: d.Name(), Epoch: d.Epoch().UnixMilli(), Nodes: d.Nodes(), Layout: d.Config().Layout,
		Life: ref.Life, Born: ref.Born,
	}
}

// Ref checks what came over the wire. Errors match sequencer.ErrInvalidConfig.
func (s Sequencer) Ref() (sequencer.Ref, error) {
	def, err := sequencer.Define(s.Name, sequencer.Config{Epoch: epoch.UnixMilli(s.Epoch), Nodes: s.Nodes, Layout: s.Layout})
	if err != nil {
		return sequencer.Ref{}, err
	}
	return sequencer.Ref{Definition: def, Life: s.Life, Born: s.Born}, nil
}

// Stamp is in every answer of an owner: whose answer it is, and the cluster time.
type Stamp struct {
	Grid    roster.GridID    `json:"grid"`
	Version roster.Version   `json:"version"`
	Time    clustertime.Tick `json:"time"`
}

// CreateRequest requests the life of a name, and starts one if there is none. Omitted
// fields have the defaults of sequencer.Config.
type CreateRequest struct {
	Name   string           `json:"name"`
	Epoch  *int64           `json:"epoch,omitempty"`           // Unix ms; nil = epoch.Default, 2026
	Nodes  int              `json:"nodes"`                     // 0 = the layout's
	Layout sequencer.Layout `json:"layout,omitempty,omitzero"` // zero = 63/23/8192
	// Attach asks for a logical node of that life too, so that a process needs one call for its
	// first ID. A member that does not own the name passes such a request on to the owner. Members
	// of earlier releases ignore it, and their answers have no Attached.
	Attach *CreateAttach `json:"attach,omitempty"`
}

// CreateAttach is the part of a [CreateRequest] that asks for a logical node for attachment ID,
// Node if it is given and free. Its fields are those of AttachRequest.
type CreateAttach struct {
	Holder   sequencer.HolderID      `json:"holder"`
	ID       sequencer.AttachmentID  `json:"id"`
	Node     *sequencer.NodeID       `json:"node"`
	Previous *sequencer.AttachmentID `json:"previous,omitempty"`
	Identity *Identity               `json:"identity,omitempty"`
	About    *About                  `json:"about,omitempty"`
}

// Request returns the request to attach to the life in an answer to the create.
func (a CreateAttach) Request(of SequencerResponse) AttachRequest {
	return AttachRequest{
		Holder: a.Holder, Claim: Claim{Sequencer: of.Sequencer, ID: a.ID, Node: a.Node, Grid: of.Grid, Version: of.Version},
		Previous: a.Previous, Identity: a.Identity, About: a.About,
	}
}

// Config returns the definition asked for.
func (r CreateRequest) Config() sequencer.Config {
	cfg := sequencer.Config{Epoch: epoch.Default, Nodes: r.Nodes, Layout: r.Layout}
	if r.Epoch != nil {
		cfg.Epoch = epoch.UnixMilli(*r.Epoch)
	}
	return cfg
}

// CreateRequestOf returns the request for a definition.
func CreateRequestOf(d sequencer.Definition) CreateRequest {
	return CreateRequest{Name: d.Name(), Epoch: new(d.Epoch().UnixMilli()), Nodes: d.Nodes(), Layout: d.Config().Layout}
}

// OpenRequest asks for a name's life.
type OpenRequest struct {
	Name string `json:"name"`
}

// SequencerResponse answers CreateRequest and OpenRequest.
type SequencerResponse struct {
	Stamp
	Sequencer Sequencer `json:"sequencer"`
	// Attached answers CreateRequest.Attach. It is nil if that was not given, or the owner runs
	// an earlier release.
	Attached *Attached `json:"attached,omitempty"`
}

// Attached is a logical node and its grant, or the error that there is none: the sequencer
// exists in either case.
type Attached struct {
	Node  sequencer.NodeID `json:"node"`
	Grant sequencer.Grant  `json:"grant"`
	Error *Error           `json:"error,omitempty"`
}

// Claim is an attachment as a holder shows it; a zero ID stands for a handle
// without one. Grid, Version and Until are of its newest grant, or of the last
// answer about the life if there is none.
type Claim struct {
	Sequencer Sequencer              `json:"sequencer"`
	ID        sequencer.AttachmentID `json:"id"`
	Node      *sequencer.NodeID      `json:"node"`
	Grid      roster.GridID          `json:"grid"`
	Version   roster.Version         `json:"version"`
	Until     clustertime.Tick       `json:"until"`
}

// AttachRequest asks for a logical node for attachment Claim.ID, Claim.Node if
// it is given and free.
type AttachRequest struct {
	Holder sequencer.HolderID `json:"holder"`
	Claim  Claim              `json:"claim"`
	// Previous is the attachment that an earlier process of the holder had on Claim.Node,
	// which the node is taken from if it has it still.
	Previous *sequencer.AttachmentID `json:"previous,omitempty"`
	// Identity is that of a holder with a number. The owner refuses one that was replaced.
	Identity *Identity `json:"identity,omitempty"`
	// About is for people alone: members of earlier releases ignore it, and nothing is
	// decided by it.
	About *About `json:"about,omitempty"`
}

// AttachResponse is a logical node and its grant.
type AttachResponse struct {
	Stamp
	Node  sequencer.NodeID `json:"node"`
	Grant sequencer.Grant  `json:"grant"`
}

// RenewRequest shows everything that a holder has at one owner: partition by
// partition in Sets, and one by one, in Claims, what an answer said was not known
// so.
type RenewRequest struct {
	Holder sequencer.HolderID `json:"holder"`
	Grid   roster.GridID      `json:"grid"` // whose answers Sets rests on
	Sets   []ClaimSet         `json:"sets,omitempty"`
	Claims []Claim            `json:"claims,omitempty"`
	// Identity is that of a holder with a number. The owner refuses one that was replaced.
	Identity *Identity `json:"identity,omitempty"`
	// Used is for metrics alone: members of earlier releases ignore it, and nothing is
	// decided by it. Entries after the first MaxUsed are ignored.
	Used []Used `json:"used,omitempty"`
	// About is as in AttachRequest. One that breaks a limit is ignored here.
	About *About `json:"about,omitempty"`
}

// Used is how many IDs of a sequencer a holder has issued since it told the owner last, and
// how many of its calls had to wait for a grant. A report that gets lost is not repeated.
type Used struct {
	Name  string `json:"name"`
	IDs   uint64 `json:"ids"`
	Waits uint64 `json:"waits,omitempty"`
}

// ClaimSet is all of a holder's handles of one partition.
type ClaimSet struct {
	Partition roster.PartitionID `json:"partition"`
	Count     int                `json:"count"`
	Print     sequencer.Print    `json:"print"` // theirs, combined
}

// RenewResponse answers each set and each claim, in the same order.
type RenewResponse struct {
	Stamp
	// Sets says where the grants of a set's attachments end now. They begin
	// where they began. 0 means that the owner knows the set otherwise: show it
	// by claims.
	Sets    []clustertime.Tick `json:"sets,omitempty"`
	Results []RenewResult      `json:"results,omitempty"`
	// Pace is after how many milliseconds the member wants the next renewal, because it has
	// much to do; 0 is as usual.
	Pace int64 `json:"pace_ms,omitempty"`
}

// RenewResult is a grant or the error that ends it.
type RenewResult struct {
	Grant sequencer.Grant `json:"grant"`
	Error *Error          `json:"error,omitempty"`
}

// DetachRequest gives an attachment back.
type DetachRequest struct {
	Holder    sequencer.HolderID     `json:"holder"`
	Sequencer Sequencer              `json:"sequencer"`
	ID        sequencer.AttachmentID `json:"id"`
	Node      sequencer.NodeID       `json:"node"`
	LastUsed  clustertime.Tick       `json:"last_used"` // Unix ms of the last ID, 0 = none was made
	// IDs and Waits are those of a [Used], for metrics alone.
	IDs   uint64 `json:"ids,omitempty"`
	Waits uint64 `json:"waits,omitempty"`
}

// DestroyRequest ends a name's life; with a zero life, whichever it has.
type DestroyRequest struct {
	Name string         `json:"name"`
	Life sequencer.Life `json:"life"`
}

// Done is the response of a call without a result.
type Done struct {
	Stamp
}

// EventsRequest opens the stream of a holder's events at one owner.
type EventsRequest struct {
	Holder sequencer.HolderID `json:"holder"`
}

// Event tells a holder that a life has ended: it gives up the attachment it has,
// if any, by DetachRequest. An event with an empty name only says that the
// stream stands.
type Event struct {
	Name string         `json:"name"`
	Life sequencer.Life `json:"life"`
}

// DirectoryRequest asks who owns what. With Wait the answer comes when the owner of
// Partition is at another API address than NotAt, as far as the member that is asked
// knows, or when Wait is over. Members of the release before answer immediately.
type DirectoryRequest struct {
	Partition int              `json:"partition,omitempty"`
	NotAt     string           `json:"not_at,omitempty"`
	Wait      clustertime.Span `json:"wait,omitempty"` // ms, at most MaxDirectoryWait
	// Known is the directory that the caller has. A member that has no other answers that it is
	// the same, and nothing else. Members of the release before answer with all of it.
	Known *DirectoryVersion `json:"known,omitempty"`
}

// DirectoryVersion says which directory of which grid is meant.
type DirectoryVersion struct {
	Grid    roster.GridID  `json:"grid"`
	Version roster.Version `json:"version"`
}

// MaxDirectoryWait is the longest that a member waits with a directory.
const MaxDirectoryWait clustertime.Span = 1_000

// DirectoryResponse says who owns what. Owners[p] is an index into Members, -1
// while partition p has no owner.
type DirectoryResponse struct {
	Stamp
	Window clustertime.Span `json:"window"` // ms
	// Same says that the caller's directory is the one of the stamp. Members and Owners are
	// empty then.
	Same bool `json:"same,omitempty"`
	// Name is the grid's. Members of protocol 1 leave it empty.
	Name    string    `json:"name,omitempty"`
	Members []Address `json:"members"`
	Owners  []int     `json:"owners"`
}

// Address is where a member's API is.
type Address struct {
	Incarnation roster.Incarnation `json:"incarnation"`
	API         string             `json:"api"`
}

// StatusRequest asks for the status; Local leaves out what only others know.
type StatusRequest struct {
	Local bool `json:"local"`
}

// SettledResponse tells whether an orderly stop of one more member loses nothing, as
// the member that answers knows it; else the status of the answer is 503.
type SettledResponse struct {
	Settled bool           `json:"settled"`
	Reason  string         `json:"reason,omitempty"` // why not
	Version roster.Version `json:"version"`          // of the roster
}

// CheckHolder refuses, with ErrBadRequest, a holder ID that is empty or too long.
func CheckHolder(h sequencer.HolderID) error {
	if len(h) == 0 || len(h) > MaxHolder {
		return failure.Errorf(ErrBadRequest, "grid: holder is %d bytes long; give a random name of 1 to %d bytes, one per process", len(h), MaxHolder)
	}
	return nil
}
