package grants

import (
	"encoding/json"
	"testing"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// released is one body of DELETE /v1/grants, and the values from which a client builds it.
type released struct {
	About string       `json:"about"`
	Given givenRelease `json:"given"`
	Body  releaseBody  `json:"body"`
}

// givenRelease has the state of a generator when it releases its grant.
type givenRelease struct {
	Grant string `json:"grant"`
	Last  int64  `json:"last"`
	IDs   int64  `json:"ids"`
	Waits int64  `json:"waits"`
}

// releaseBody has every field that a client sends.
type releaseBody struct {
	Grant string `json:"grant"`
	Last  int64  `json:"last"`
	Used  used   `json:"used"`
}

// releases returns the bodies for the file.
func releases() (out []released) {
	add := func(about string, g givenRelease) {
		out = append(out, released{about, g, releaseBody{g.Grant, g.Last, used{g.IDs, g.Waits}}})
	}
	add("a release before the first ID", givenRelease{Grant: "g1.1"})
	add("a release after some IDs", givenRelease{Grant: "g1.2", Last: 1795645800123, IDs: 4096, Waits: 2})
	add("a release after a renewal that has reported all IDs", givenRelease{Grant: "g1.3", Last: 1795645800124})
	const most = 1<<53 - 1
	add("a release with the largest numbers", givenRelease{Grant: "g1.4", Last: most, IDs: most, Waits: most})
	return out
}

// TestReleases: a member accepts each body of the file, and takes from it the given values.
func TestReleases(t *testing.T) {
	for _, r := range releases() {
		text, err := json.Marshal(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		var in wire.GrantRelease
		if err := wire.Decode(wire.JSON, text, &in); err != nil {
			t.Errorf("%s: %s: %v", r.About, text, err)
			continue
		}
		counts := wire.GrantUsed{IDs: uint64(r.Given.IDs), Waits: uint64(r.Given.Waits)}
		if in.Grant != r.Given.Grant || in.Last == nil || *in.Last != clustertime.Tick(r.Given.Last) || in.Used != counts {
			t.Errorf("%s: decoded as %+v", r.About, in)
		}
	}
}
