package wire_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestOmitted: messages with and without a layout and a node range have the bytes in testdata/omitted.txt, which
// members and clients of other releases read. The zero values are left out.
func TestOmitted(t *testing.T) {
	twitter, upper := wire.Layout(sequencer.Twitter()), wire.NodeRange{Lo: 32, Hi: 1023}
	var got strings.Builder
	for _, message := range []any{
		wire.IDsCreate{},
		wire.IDsCreate{Layout: twitter, NodeRange: upper},
		wire.CreateRequest{Name: "a"},
		wire.CreateRequest{Name: "a", Layout: twitter, NodeRange: wire.NodeRange{Hi: 31}},
		wire.Sequencer{Name: "a", Nodes: 128},
		wire.Sequencer{Name: "a", Nodes: 1024, Layout: twitter, NodeRange: upper},
		wire.SequencerRow{Name: "a"},
		wire.SequencerRow{Name: "a", Layout: sequencer.Twitter(), NodeRange: wire.NodeRange{Hi: 31}},
	} {
		for _, kind := range []string{wire.JSON, wire.MsgPack} {
			data, err := wire.Encode(kind, message)
			fmt.Fprintf(&got, "%T %s %q %v\n", message, kind, data, err)
		}
	}
	const file = "testdata/omitted.txt"
	if want, err := os.ReadFile(file); got.String() != string(want) {
		t.Errorf("the messages are\n%s\nand differ from %s, %v", &got, file, err)
	}
}
