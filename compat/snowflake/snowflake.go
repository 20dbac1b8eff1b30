// Package snowflake replaces github.com/bwmarrin/snowflake: it has the same names, and a snowgrid sequencer generates
// the IDs. Moving is one import and one line:
//
//	import "github.com/snowgrid/snowgrid/compat/snowflake" // was: "github.com/bwmarrin/snowflake"
//
//	node, err := snowflake.Use(orders) // was: snowflake.NewNode(1)
//
// The sequencer takes the place of the node number, because it assigns the number itself. It needs the layout and the
// epoch that the earlier IDs have:
//
//	orders, err := c.CreateSequencer(ctx, "orders", sequencer.Config{Layout: sequencer.Twitter(), Epoch: epoch.Twitter})
//
// Stop every earlier generator before the first ID, since they do not coordinate node numbers with the sequencer. New
// IDs are above the earlier ones if no earlier clock was ahead; Floor in [github.com/snowgrid/snowgrid/grid.Config]
// covers clocks that were.
//
// NewNode does not exist, so the compiler points at each line to change. New programs use package sequencer directly.
//
// # Generate
//
// [Node.Generate] returns no error, as before. It waits while the grid or the store is unavailable, however long. It
// panics if waiting cannot help: the sequencer was destroyed or has no time left, its member or client is closed, its
// logical node was detached, or the grid refuses the process another grant or logical node. It never returns an ID
// twice, and never 0 in place of an ID. A server calls [Node.GenerateContext], which ends a wait with its context and
// returns the error.
//
// # Epoch and bits
//
// [Epoch], [NodeBits] and [StepBits] are constants, and a program that assigns to them does not compile: as variables
// they could change the meaning of every ID at any time. [ID.Time], [ID.Node] and [ID.Step] use these constants, so
// [Use] rejects a sequencer with another epoch or other bits.
//
// A program with its own epoch or bits calls [UseCustom], and decomposes IDs by the node:
//
//	layout := sequencer.Layout{Bits: 41 + nodeBits + stepBits, LowBits: nodeBits + stepBits, Nodes: 1 << nodeBits}
//	orders, err := c.CreateSequencer(ctx, "orders", sequencer.Config{Layout: layout, Epoch: epoch.UnixMilli(start)})
//	node, err := snowflake.UseCustom(orders)
//	node.Time(id) // was: id.Time()
//
// There are 4 to 13 node bits, at least one step bit, and at most 22 bits for both.
//
// # Texts
//
// The texts are equal: this package reads and writes every text that bwmarrin/snowflake writes for an ID. The
// differences replace a wrong number or a panic:
//
//	call                        input                     bwmarrin/snowflake     here
//	ParseBase32, ParseBase58    empty                     0 without an error     error
//	ParseBase32, ParseBase58    above the largest int64   wrapped number         error
//	ParseBase32                 l, v, 0, 2, upper case    read as the digit 0    error
//	ParseBase58                 I, O, l                   read as the digit 0    error
//	ID.Base32, ID.Base58        negative number           panic                  minus sign, which no parser reads
//	other parsers               above the largest int64   that int64 and error   0 and error; -1 from ParseBase64
//
// A parser's error matches [sequencer.ErrInvalidID], and as before [strconv.NumError] or
// [encoding/base64.CorruptInputError]; only the message differs. [ParseBase32] and [ParseBase58] return
// [ErrInvalidBase32] and [ErrInvalidBase58] unwrapped, for programs that compare with ==.
//
// [ID.Base32] is z-base-32 without padding, and differs from idtext.Base32. The texts do not sort like IDs.
package snowflake

// An ID has 41 bits for the milliseconds since Epoch, then node and step, as in [sequencer.Twitter] with
// [github.com/snowgrid/snowgrid/epoch.Twitter].
const (
	// Epoch is 2010-11-04T01:42:54.657Z in Unix milliseconds.
	Epoch int64 = 1_288_834_974_657
	// NodeBits is the node's number of bits.
	NodeBits uint8 = 10
	// StepBits is the step's number of bits.
	StepBits uint8 = 12
)
