package grid_test

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"

	"github.com/snowgrid/snowgrid/epoch"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestAPIInvalidUTF8 wants names that are no text to be refused, not mended:
// mended, two names would be one sequencer.
func TestAPIInvalidUTF8(t *testing.T) {
	t.Parallel()
	m := startOne(t, nil)
	b := newBrowser(t, m, 1)
	jsonOf := func(name string) []byte {
		return fmt.Appendf(nil, `{"name":"%s","epoch":%d,"nodes":0}`, name, epoch.Default.UnixMilli())
	}
	bodies := map[string][]byte{"JSON of broken bytes": jsonOf("a\xff"),
		"JSON of a cut off character": jsonOf("a\xe2\x82")}
	for what, body := range bodies {
		status, _, answer := b.send(http.MethodPost, wire.PathCreate, wire.JSON, bytes.NewReader(body))
		refused(t, what, status, wire.JSON, answer)
	}
	status, answer := b.post(wire.PathCreate, wire.MsgPack,
		wire.CreateRequest{Name: "a\xff", Epoch: new(epoch.Default.UnixMilli())})
	refused(t, "msgpack", status, wire.MsgPack, answer)
}
