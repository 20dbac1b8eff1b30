package wire

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Paths for pages that list the whole grid's sequencers and holders.
const (
	PathSequencers = "/v1/sequencers" // also served for GET, with the request's fields
	PathHolders    = "/v1/holders"    // likewise
)

// Limits for a page. Every page, in each encoding, has less than MaxBody bytes.
const (
	MaxPage     = 1000 // rows
	DefaultPage = 100
)

// MaxSequencerName bounds a sequencer's name in bytes.
const MaxSequencerName = 255

// IndexResponse lists the paths that a member serves: GET / with Accept: application/json.
type IndexResponse struct {
	Paths []PathInfo `json:"paths"`
}

// PathInfo is one API path.
type PathInfo struct {
	Path    string   `json:"path"`
	Methods []string `json:"methods"`
	About   string   `json:"about"`
}

// SequencersRequest requests a page with the grid's sequencers.
type SequencersRequest struct {
	Prefix string `json:"prefix,omitempty"` // a name prefix
	After  string `json:"after,omitempty"`  // the page begins with the first name above it
	Limit  int    `json:"limit,omitempty"`  // rows, at most MaxPage; 0 = DefaultPage
	// Busiest lists the sequencers with the most IDs in the last minutes, at most 200 per member,
	// instead of all by name. It has no further page.
	Busiest bool `json:"busiest,omitempty"`
	// Destroyed lists the destroyed sequencers whose definitions the grid keeps, instead of the others.
	Destroyed bool `json:"destroyed,omitempty"`
	Local     bool `json:"local,omitempty"` // only sequencers owned by the member itself
	// Names restricts the names by patterns, if there are any: the caller's, passed on by the relaying
	// member.
	Names []security.Pattern `json:"names,omitempty"`
}

// Check refuses a page that no member makes, and fills in the default limit. Errors match
// ErrBadRequest.
func (r *SequencersRequest) Check() error {
	if err := checkRange(r.Prefix, r.After); err != nil {
		return err
	}
	if r.Busiest && (r.Prefix != "" || r.After != "") {
		return failure.Errorf(ErrBadRequest,
			"grid: busiest with prefix or after: the busiest sequencers are one page of all names; omit the others")
	}
	if r.Busiest && r.Destroyed {
		return failure.Errorf(ErrBadRequest, "grid: busiest with destroyed: destroyed sequencers issue no IDs; omit one")
	}
	return checkPage(&r.Limit, MaxPage)
}

// checkRange refuses texts that are longer than any name.
func checkRange(prefix, after string) error {
	for field, text := range map[string]string{"prefix": prefix, "after": after} {
		if len(text) > MaxSequencerName {
			return failure.Errorf(ErrBadRequest, "grid: %s %.40q has %d bytes; a name has at most %d", field, text, len(text),
				MaxSequencerName)
		}
	}
	return nil
}

// SequencersResponse is a page with the grid's sequencers: by name, or the busiest first.
type SequencersResponse struct {
	Sequencers []SequencerRow `json:"sequencers"`
	// Next is the name to give as After for the next page, "" if there is none.
	Next string `json:"next,omitempty"`
	// Names are the caller's patterns if it may use some sequencers only. Others are not listed.
	Names []security.Pattern `json:"names,omitempty"`
	Coverage
}

// Coverage says what a list of sequencers lacks.
type Coverage struct {
	// Unreachable are members that did not answer: their sequencers are missing.
	Unreachable []roster.Incarnation `json:"unreachable,omitempty"`
	// Unlisted are partitions whose sequencers are missing, since no member that answered owned them
	// with every name: they move, or their owner waits for a disk or, after the loss of every copy, for
	// the holders.
	Unlisted []roster.PartitionID `json:"unlisted,omitempty"`
	// Listed are the partitions that a member's own page covers.
	Listed []roster.PartitionID `json:"listed,omitempty"`
}

// Partitions names partitions for people, the first ones of many.
func Partitions[ID int | roster.PartitionID](ids []ID) string {
	const most = 8
	switch {
	case len(ids) == 1:
		return fmt.Sprintf("partition %d", ids[0])
	case len(ids) > most:
		return fmt.Sprintf("%d partitions (%d, %d, ...)", len(ids), ids[0], ids[1])
	}
	return "partitions " + strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ", "), "[]")
}

// Add adds what another page of the same list lacks.
func (c *Coverage) Add(page Coverage) {
	c.Unreachable = union(c.Unreachable, page.Unreachable)
	c.Unlisted = union(c.Unlisted, page.Unlisted)
}

// union returns the elements of both, sorted, each once.
func union[T cmp.Ordered](a, b []T) []T {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}

// Missing returns what a list lacks, for people; "" if nothing.
func (c Coverage) Missing() string {
	var parts []string
	if len(c.Unreachable) > 0 {
		parts = append(parts, fmt.Sprintf("no answer from %v", c.Unreachable))
	}
	if len(c.Unlisted) > 0 {
		parts = append(parts, "no owner listed "+Partitions(c.Unlisted))
	}
	return strings.Join(parts, "; ")
}

// SequencerRow is one sequencer on a page.
type SequencerRow struct {
	Name      string             `json:"name"`
	Epoch     time.Time          `json:"epoch"`
	Exhausted time.Time          `json:"exhausted"` // when its IDs end
	Nodes     int                `json:"nodes"`
	Attached  int                `json:"attached"` // logical nodes
	Layout    sequencer.Layout   `json:"layout"`
	NodeRange NodeRange          `json:"node_range,omitempty,omitzero"`
	Partition roster.PartitionID `json:"partition"`
	Owner     roster.Incarnation `json:"owner"`
	OwnerName string             `json:"owner_name,omitempty"` // if no other member has it
	Destroyed bool               `json:"destroyed,omitempty"`
	// IDs and Waits are totals reported by holders to this owner since it started, for metrics: a new owner
	// starts at 0.
	IDs   uint64 `json:"ids"`
	Waits uint64 `json:"waits"`
	// Recent is about how many IDs per second were reported in the last minutes.
	Recent float64 `json:"ids_per_second"`
}

// HoldersRequest requests a page with a sequencer's holders, in ascending order by logical node.
type HoldersRequest struct {
	Name      string `json:"name"`
	After     *int   `json:"after,omitempty"` // the page begins with the first node above it; nil: with the first
	Limit     int    `json:"limit,omitempty"` // rows, at most MaxPage; 0 = DefaultPage
	Forwarded bool   `json:"forwarded,omitempty"`
}

// Check refuses a page that no member makes, and fills in the default limit. Errors match
// ErrBadRequest and sequencer.ErrInvalidConfig.
func (r *HoldersRequest) Check() error {
	if _, err := sequencer.Define(r.Name, sequencer.Config{}); err != nil {
		return err
	}
	return checkPage(&r.Limit, MaxPage)
}

// HoldersResponse is a page with a sequencer's holders.
type HoldersResponse struct {
	Sequencer string             `json:"sequencer"`
	Owner     roster.Incarnation `json:"owner"` // the partition's owner
	OwnerName string             `json:"owner_name,omitempty"`
	Nodes     int                `json:"nodes"`    // that holders can have
	Attached  int                `json:"attached"` // logical nodes that are attached, on all pages
	Holders   []HolderRow        `json:"holders"`  // by node
	More      bool               `json:"more"`     // there are further nodes
}

// HolderRow is one attached logical node and its holder.
type HolderRow struct {
	Node sequencer.NodeID `json:"node"`
	// Holder is the beginning of the process's random ID, "" until it has renewed at this owner.
	// The whole ID is a secret of the process.
	Holder attachment.HolderID `json:"holder"`
	// Shown is the time since the holder's last attach or renewal, in milliseconds.
	Shown  int64             `json:"shown_ms"`
	Addr   string            `json:"addr,omitempty"` // where its last request came from
	Build  string            `json:"build,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
}

// checkPage rejects a row count out of range, and fills in the default.
func checkPage(limit *int, most int) error {
	if *limit < 0 || *limit > most {
		return failure.Errorf(ErrBadRequest, "grid: limit %d: give 1 to %d rows, or 0 for %d", *limit, most, DefaultPage)
	}
	*limit = cmp.Or(*limit, DefaultPage)
	return nil
}
