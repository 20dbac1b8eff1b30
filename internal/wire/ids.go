package wire

import (
	"encoding/json"
	"strconv"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// IDsRequest asks for 1 to MaxIDs IDs of a sequencer, which has to exist unless
// Create is given.
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

// IDsCreate is the definition of a sequencer that is created if there is none of the
// name; one of another definition is a conflict. Its fields are those of CreateRequest. In
// JSON the layout may be a text of sequencer.ParseLayout, as on the command line: "twitter"
// and "discord" bring their epoch unless another one is stated.
type IDsCreate struct {
	Epoch  *int64           `json:"epoch,omitempty"`
	Nodes  int              `json:"nodes,omitempty"`
	Layout sequencer.Layout `json:"layout,omitempty,omitzero"`
}

// withLayout returns a request in JSON with the numbers of a layout in place of its text, and
// with the epoch that belongs to it unless one is stated. Other bodies, also those that are no
// request, are returned as they are. Errors match ErrBadRequest.
func withLayout(data []byte) ([]byte, error) {
	var body, create map[string]json.RawMessage
	var text string
	if json.Unmarshal(data, &body) != nil || json.Unmarshal(body["create"], &create) != nil || json.Unmarshal(create["layout"], &text) != nil || text == "" {
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

// IDsResponse holds IDs in ascending order, as strings.
type IDsResponse struct {
	IDs []sequencer.ID `json:"ids"`
}
