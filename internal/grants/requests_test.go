package grants

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// request is one body of POST /v1/grants, and the values from which a client builds it.
type request struct {
	About string `json:"about"`
	Given given  `json:"given"`
	Body  body   `json:"body"`
}

// given has the options of a generator and its state when it sends a request.
type given struct {
	Name   string            `json:"name"`
	Grant  string            `json:"grant"`            // "" in a first request
	Create json.RawMessage   `json:"create,omitempty"` // nil creates nothing
	Labels map[string]string `json:"labels"`
	IDs    int64             `json:"ids"`
	Waits  int64             `json:"waits"`
}

// body has every field that a client sends. Low is not one of them (G11).
type body struct {
	Name   string            `json:"name,omitempty"`
	Grant  string            `json:"grant,omitempty"`
	Create json.RawMessage   `json:"create,omitempty"`
	Used   used              `json:"used"`
	Labels map[string]string `json:"labels,omitempty"`
}

type used struct {
	IDs   int64 `json:"ids"`
	Waits int64 `json:"waits"`
}

// body returns the body of a request.
func (g given) body() body {
	b := body{Name: g.Name, Create: g.Create, Used: used{g.IDs, g.Waits}, Labels: g.Labels}
	if g.Grant != "" { // a renewal creates nothing
		b.Grant, b.Name, b.Create = g.Grant, "", nil
	}
	return b
}

// requests returns the bodies for the file.
func requests() (out []request) {
	add := func(about string, g given) {
		if g.Labels == nil {
			g.Labels = map[string]string{}
		}
		out = append(out, request{about, g, g.body()})
	}
	def := json.RawMessage(`{}`)
	labels := map[string]string{"host": "a", "k8s.io/pod": `"shop" \ 1 é 😀`}
	add("a first request", given{Name: "orders"})
	add("a first request after a call that waited", given{Name: "orders", Waits: 1})
	add("a first request with labels", given{Name: "orders", Labels: labels, Waits: 1})
	add("a first request that creates the default layout", given{Name: "orders", Create: def, Waits: 1})
	add("a first request that creates a named layout", given{Name: "shop/orders", Labels: labels,
		Create: json.RawMessage(`{"epoch":1767225600000,"nodes":64,"layout":"jssafe"}`)})
	add("a first request that creates a layout of its own", given{Name: "orders",
		Create: json.RawMessage(`{"layout":{"bits":53,"low_bits":12,"nodes":64},"node_range":{"lo":32,"hi":63}}`)})
	add("a first request after a grant that was released elsewhere", given{Name: "orders", Create: def, IDs: 7, Waits: 3})
	add("a renewal", given{Name: "orders", Grant: "g1.1"})
	add("a renewal with labels", given{Name: "orders", Grant: "g1.1", Labels: labels, IDs: 4096, Waits: 2})
	add("a renewal does not create", given{Name: "orders", Grant: "g1.2", Create: def, IDs: 1})
	add("a renewal with labels does not create", given{Name: "orders", Grant: "g1.2", Labels: labels, IDs: 1,
		Create: json.RawMessage(`{"nodes":128}`)})
	add("the largest counts", given{Name: "orders", Grant: "g1.3", IDs: 1<<53 - 1, Waits: 1<<53 - 1})
	return out
}

// TestRequests: a member accepts each body of the file, takes from it the given values, and none has the reserved
// field (G11).
func TestRequests(t *testing.T) {
	for _, r := range requests() {
		text, err := json.Marshal(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(text, &fields); err != nil {
			t.Fatal(err)
		}
		if _, sent := fields["low"]; sent {
			t.Errorf("%s: low is sent: %s", r.About, text)
		}
		var in wire.GrantRequest
		if err := wire.Decode(wire.JSON, text, &in); err != nil {
			t.Errorf("%s: %s: %v", r.About, text, err)
			continue
		}
		if err := check(r.Given, in); err != nil {
			t.Errorf("%s: %s: %v", r.About, text, err)
		}
	}
}

// check compares a request that a member has decoded with the given values.
func check(g given, in wire.GrantRequest) error {
	want := wire.GrantUsed{IDs: uint64(g.IDs), Waits: uint64(g.Waits)}
	if in.Grant != g.Grant || in.Used != want || in.Low != 0 || !maps.Equal(in.Labels, g.Labels) {
		return fmt.Errorf("decoded as %+v", in)
	}
	if err := wire.CheckLabels(in.Labels); err != nil {
		return err
	}
	if g.Grant != "" {
		if in.Name != "" || in.Create != nil {
			return errors.New("a renewal has a name or create")
		}
		return nil
	}
	if in.Name != g.Name || (in.Create == nil) != (g.Create == nil) {
		return fmt.Errorf("decoded as %+v", in)
	}
	if in.Create == nil {
		return nil
	}
	c := wire.CreateRequest{Epoch: in.Create.Epoch, Nodes: in.Create.Nodes, Layout: in.Create.Layout,
		NodeRange: in.Create.NodeRange}
	_, err := sequencer.Define(in.Name, c.Config())
	return err
}
