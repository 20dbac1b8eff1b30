package wire_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// grantToken returns a token for a name, with large numbers.
func grantToken(name string, layout sequencer.Layout) wire.GrantToken {
	t := wire.GrantToken{
		Sequencer: wire.Sequencer{Name: name, Epoch: 5, Nodes: 16, Layout: wire.Layout(layout),
			NodeRange: wire.NodeRange{Lo: 2, Hi: 15},
			Born:      attachment.Revision{Term: 1 << 40, Number: 1 << 40}},
		Turn: 1 << 30, Node: 15, Version: 1 << 40, Until: 1 << 52,
	}
	for i := range t.Secret {
		t.Secret[i], t.Grid[i], t.Sequencer.Life[i] = byte(i), byte(2*i), byte(3*i)
	}
	return t
}

// TestGrantToken: the text has everything, is not too long, and no other text with a changed or a missing byte
// is a token.
func TestGrantToken(t *testing.T) {
	for _, name := range []string{"a", "bestellungen-münchen", strings.Repeat("x", 255)} {
		want := grantToken(name, sequencer.JSSafe())
		text := want.String()
		if got, err := wire.ParseGrantToken(text); err != nil || got != want {
			t.Errorf("%.20s: %+v, %v, want %+v", name, got, err, want)
		}
		if len(text) > wire.MaxGrantToken {
			t.Errorf("%.20s: the token has %d bytes", name, len(text))
		}
		for i := range text {
			without, other, broken := text[:i]+text[i+1:], text[:i]+"_"+text[i+1:], text[:i]+"\n"+text[i:]
			for _, other := range []string{text[:i], without, other, broken} {
				if other == text {
					continue
				}
				if got, err := wire.ParseGrantToken(other); !errors.Is(err, wire.ErrBadRequest) {
					t.Fatalf("%.20s, byte %d: %+v, %v", name, i, got, err)
				}
			}
		}
	}
	impossible := grantToken("a", sequencer.JSSafe())
	impossible.Node = 16
	below := grantToken("a", sequencer.JSSafe())
	below.Node = 1
	for what, text := range map[string]string{
		"a node below the range": below.String(),
		"no token":               "", "a node too many": impossible.String(), "too long": "g1." + strings.Repeat("A", 600),
		"another version": "g2." + grantToken("a", sequencer.JSSafe()).String()[3:],
	} {
		if _, err := wire.ParseGrantToken(text); !errors.Is(err, wire.ErrBadRequest) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestGrantTokenClaims: the attachments of one grant differ by its turn, and those of two grants by their secret.
func TestGrantTokenClaims(t *testing.T) {
	one := grantToken("a", sequencer.JSSafe())
	next, other := one, one
	next.Turn++
	other.Secret[0]++
	if one.ID() == next.ID() || one.ID() == other.ID() || one.ID().IsZero() {
		t.Errorf("IDs %v, %v and %v", one.ID(), next.ID(), other.ID())
	}
	if one.Holder() != next.Holder() || one.Holder() == other.Holder() || wire.CheckHolder(one.Holder()) != nil {
		t.Errorf("holders %v, %v and %v", one.Holder(), next.Holder(), other.Holder())
	}
	c := one.Claim()
	if c.ID != one.ID() || *c.Node != one.Node || c.Grid != (roster.GridID)(one.Grid) || c.Version != one.Version ||
		c.Until != one.Until || c.Sequencer != one.Sequencer {
		t.Errorf("the claim of %+v is %+v", one, c)
	}
}

// TestGrantFormula: the numbers in a reply compose the IDs of the definition.
func TestGrantFormula(t *testing.T) {
	for _, cfg := range []sequencer.Config{{}, {Nodes: 128}, {Layout: sequencer.Twitter(), Epoch: epoch.Twitter},
		{Layout: sequencer.JSSafe(), Nodes: 16}, {Layout: sequencer.Layout{Bits: 63, LowBits: 24, Nodes: 16}}} {
		def, err := sequencer.Define("orders", cfg)
		if err != nil {
			t.Fatal(err)
		}
		s := wire.SequencerOf(attachment.Ref{Definition: def})
		for range 1000 {
			node := sequencer.NodeID(rand.IntN(def.Config().Nodes))
			r, err := wire.GrantResponseOf(s, node, attachment.Grant{From: 7, Until: 8}, 7, 8, 0)
			if err != nil || r.Ends != def.Exhausted().UnixMilli() || r.From != 7 || r.Until != 8 {
				t.Fatalf("%v: %+v, %v", def, r, err)
			}
			at, c := r.Epoch+rand.Int64N(r.Ends-r.Epoch), rand.Int64N(r.Counters)
			id := (at-r.Epoch)<<r.TimeShift | int64(r.Node)<<r.NodeShift | c
			want, err := def.Compose(sequencer.Parts{Time: time.UnixMilli(at), Node: node, Counter: uint32(c)})
			if err != nil || id != int64(want) {
				t.Fatalf("%v: time %d, counter %d: %d, want %d, %v", def, at, c, id, want, err)
			}
			if _, err := def.Compose(sequencer.Parts{Time: time.UnixMilli(at), Counter: uint32(r.Counters)}); err == nil {
				t.Fatalf("%v: the counter %d is possible", def, r.Counters)
			}
			if r.Ends >= 1<<53 || r.Ends > math.MaxInt64>>1 {
				t.Fatalf("%v: a number in %+v does not fit into 53 bits", def, r)
			}
		}
	}
}

// TestGrantRenewal: a grant is renewed just before a quarter of the window ends, or later at a busy member, and soon if
// it is short or has not begun. With a long window that is before it ends.
func TestGrantRenewal(t *testing.T) {
	def, err := sequencer.Define("orders", sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	const now, window, hour = 1_800_000_000_000, 16_000, 3_600_000
	for name, c := range map[string]struct {
		from, until  clustertime.Tick
		window, pace clustertime.Span
		want         int64
	}{
		"whole":                      {now - 5, now + window, window, 0, 3750},
		"half":                       {now, now + window/2, window, 0, 3750},
		"busy member":                {now, now + window, window, 7000, 6750},
		"idle member":                {now, now + window, window, 4000, 3750},
		"short":                      {now, now + window/2 - 1, window, 7000, 1000},
		"not begun":                  {now + 1, now + window, window, 7000, 1000},
		"already ended":              {now - 10, now - 5, window, 0, 1000},
		"20 minutes of an hour":      {now, now + hour/3, hour, 0, 225_000},
		"40 seconds of an hour":      {now, now + 40_000, hour, 0, 10_000},
		"the last second of an hour": {now, now + 1000, hour, 0, 1000},
	} {
		r, err := wire.GrantResponseOf(wire.SequencerOf(attachment.Ref{Definition: def}), 0,
			attachment.Grant{From: c.from, Until: c.until}, now, c.window, c.pace)
		if err != nil || r.RenewIn != c.want || r.Now != now {
			t.Errorf("%s: renewed in %d ms at %d, want %d; %v", name, r.RenewIn, r.Now, c.want, err)
		}
	}
}

// TestGrantTarget: a renewal creates nothing, and its name is the grant's.
func TestGrantTarget(t *testing.T) {
	token := grantToken("orders", sequencer.JSSafe())
	for what, c := range map[string]struct {
		in   wire.GrantRequest
		name string
	}{
		"first":           {wire.GrantRequest{Name: "orders", Create: &wire.IDsCreate{}}, "orders"},
		"renewal":         {wire.GrantRequest{Grant: token.String()}, "orders"},
		"renewal by name": {wire.GrantRequest{Name: "orders", Grant: token.String()}, "orders"},
		"another name":    {wire.GrantRequest{Name: "bills", Grant: token.String()}, ""},
		"with a create":   {wire.GrantRequest{Grant: token.String(), Create: &wire.IDsCreate{}}, ""},
		"damaged":         {wire.GrantRequest{Grant: token.String() + "A"}, ""},
	} {
		name, got, err := c.in.Target()
		if c.name == "" {
			if !errors.Is(err, wire.ErrBadRequest) {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		if err != nil || name != c.name || c.in.Grant != "" && got != token {
			t.Errorf("%s: %q, %+v, %v", what, name, got, err)
		}
	}
}
