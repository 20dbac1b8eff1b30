package wire

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// IDsRequest requests 1 to MaxIDs IDs from a sequencer, which has to exist unless Create is given.
type IDsRequest struct {
	Name   string     `json:"name"`
	N      *int       `json:"n,omitempty"` // nil = 1
	Create *IDsCreate `json:"create,omitempty"`
}

// Count returns the number of IDs. The error matches ErrBadRequest.
func (r IDsRequest) Count() (int, error) {
	switch {
	case r.N == nil:
		return 1, nil
	case *r.N < 1 || *r.N > MaxIDs:
		return 0, failure.Errorf(ErrBadRequest, "grid: n is %d; request 1 to %d IDs", *r.N, MaxIDs)
	}
	return *r.N, nil
}

// IDsCreate is the definition for a missing sequencer; an existing one with another definition is a
// conflict. Its fields are those in CreateRequest. In JSON the layout may be a text for
// sequencer.ParseLayout, as on the command line: "twitter" and "discord" include their epoch unless
// another one is stated.
type IDsCreate struct {
	Epoch     *int64    `json:"epoch,omitempty"`
	Nodes     int       `json:"nodes,omitempty"`
	Layout    Layout    `json:"layout,omitempty,omitzero"`
	NodeRange NodeRange `json:"node_range,omitempty,omitzero"`
}

// withLayout returns a JSON request for IDs or a grant with a layout's numbers in place of its text, and with its epoch
// unless one is stated. It returns other bodies unchanged, even invalid ones. Errors match
// ErrBadRequest.
func withLayout(data []byte) ([]byte, error) {
	if !bytes.Contains(data, []byte(`layout"`)) { // as in each renewal of a grant
		return data, nil
	}
	var body, create map[string]json.RawMessage
	var text string
	if json.Unmarshal(data, &body) != nil || json.Unmarshal(body["create"], &create) != nil ||
		json.Unmarshal(create["layout"], &text) != nil || text == "" {
		return data, nil
	}
	layout, err := sequencer.ParseLayout(text)
	if err != nil {
		return nil, failure.Errorf(ErrBadRequest, "%w", err)
	}
	if create["layout"], err = json.Marshal(layout); err != nil {
		return nil, err
	}
	belongs := map[string]epoch.Epoch{"twitter": epoch.Twitter, "discord": epoch.Discord}
	if _, stated := create["epoch"]; !stated {
		if e, has := belongs[text]; has {
			create["epoch"] = json.RawMessage(strconv.FormatInt(e.UnixMilli(), 10))
		}
	}
	if body["create"], err = json.Marshal(create); err != nil {
		return nil, err
	}
	return json.Marshal(body)
}

// checkNodes refuses a stated range of node 0 alone in a JSON definition, whose decoded request is v: as
// NodeRange it is the zero value, which stands for all nodes. Errors match ErrBadRequest.
func checkNodes(data []byte, v any) error {
	var create *IDsCreate
	switch in := v.(type) {
	case *IDsRequest:
		create = in.Create
	case *GrantRequest:
		create = in.Create
	case *CreateRequest:
		create = &IDsCreate{NodeRange: in.NodeRange}
	}
	if create == nil || !create.NodeRange.IsZero() {
		return nil
	}
	type definition struct {
		NodeRange *NodeRange `json:"node_range"`
	}
	var body struct {
		definition
		Create definition `json:"create"`
	}
	_ = json.Unmarshal(data, &body) // the request's decoder has reported each fault
	if body.NodeRange != nil || body.Create.NodeRange != nil {
		return failure.Errorf(ErrBadRequest,
			"node_range has node 0 alone; give lo and hi of two nodes or more, or omit it for all nodes")
	}
	return nil
}

// IDsResponse holds IDs in ascending order, as strings.
type IDsResponse struct {
	IDs []sequencer.ID `json:"ids"`
}
