package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"math"
	"slices"
	"strings"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// MaxGrantToken is the maximum number of bytes in a token's text.
const MaxGrantToken = 512

// grantTokens begins a token's text, with the version of its format.
const grantTokens = "g1."

// GrantToken is what a claim of a grant needs, so that a generator keeps one text. It is a secret, as a
// holder ID is: a process that has it may renew and release the grant. It is not sealed, since a holder
// could state the same in a claim.
type GrantToken struct {
	Sequencer Sequencer
	Secret    [16]byte // random; the holder and its attachments follow from it
	Turn      uint64   // counts the attachments, one for each logical node
	Node      sequencer.NodeID
	Grid      roster.GridID  // of the reply with this token
	Version   roster.Version // of the reply with this token
	Until     clustertime.Tick
}

// Holder returns the holder of the grant.
func (t GrantToken) Holder() attachment.HolderID {
	return attachment.HolderID(hex.EncodeToString(t.Secret[:]))
}

// ID returns the grant's attachment. It follows from the token: a request whose reply is lost can be
// repeated, and takes no second logical node.
func (t GrantToken) ID() (id attachment.ID) {
	text := binary.BigEndian.AppendUint64(append([]byte("snowgrid grant "), t.Secret[:]...), t.Turn)
	sum := sha256.Sum256(text)
	copy(id[:], sum[:])
	return id
}

// Claim returns the claim of the grant.
func (t GrantToken) Claim() Claim {
	return Claim{Sequencer: t.Sequencer, ID: t.ID(), Node: &t.Node, Grid: t.Grid, Version: t.Version, Until: t.Until}
}

// Next returns the token for another logical node, with the attachment that takes it.
func (t GrantToken) Next() GrantToken {
	t.Turn++
	return t
}

// With returns the token for the reply with a grant.
func (t GrantToken) With(node sequencer.NodeID, g attachment.Grant, s Stamp) GrantToken {
	t.Node, t.Until, t.Grid, t.Version = node, g.Until, s.Grid, s.Version
	return t
}

var grantChecksum = crc32.MakeTable(crc32.Castagnoli)

// String returns the token's text.
func (t GrantToken) String() string {
	s := t.Sequencer
	out := make([]byte, 0, MaxGrantToken)
	out = append(out, t.Secret[:]...)
	out = append(out, t.Grid[:]...)
	out = append(out, s.Life[:]...)
	out = binary.AppendVarint(out, s.Epoch)
	for _, n := range []uint64{t.Turn, uint64(t.Node), uint64(t.Version), uint64(t.Until), s.Born.Term, s.Born.Number,
		uint64(s.Nodes), uint64(s.Layout.Bits), uint64(s.Layout.LowBits), uint64(s.Layout.Nodes),
		uint64(s.NodeRange.Lo), uint64(s.NodeRange.Hi)} {
		out = binary.AppendUvarint(out, n)
	}
	out = append(out, s.Name...)
	out = binary.BigEndian.AppendUint32(out, crc32.Checksum(out, grantChecksum))
	return grantTokens + base64.RawURLEncoding.EncodeToString(out)
}

// ParseGrantToken reads a token. Errors match ErrBadRequest.
func ParseGrantToken(text string) (t GrantToken, err error) {
	refuse := func(why string) (GrantToken, error) {
		return GrantToken{}, failure.Errorf(ErrBadRequest,
			"grid: the grant %.12q... %s; send the grant of the newest reply unchanged", text, why)
	}
	if len(text) > MaxGrantToken {
		return refuse("is longer than 512 bytes")
	}
	if len(text) < len(grantTokens) || text[:len(grantTokens)] != grantTokens {
		return refuse("does not begin with " + grantTokens)
	}
	in, err := base64.RawURLEncoding.Strict().DecodeString(text[len(grantTokens):])
	if err != nil || len(in) < 4 || strings.ContainsAny(text, "\r\n") { // the decoder skips line breaks
		return refuse("is damaged")
	}
	in, sum := in[:len(in)-4], binary.BigEndian.Uint32(in[len(in)-4:])
	if crc32.Checksum(in, grantChecksum) != sum {
		return refuse("is damaged")
	}
	rest := bytes.NewReader(in)
	for _, field := range [][]byte{t.Secret[:], t.Grid[:], t.Sequencer.Life[:]} {
		if n, _ := rest.Read(field); n < len(field) {
			return refuse("is damaged")
		}
	}
	s := &t.Sequencer
	var n [12]uint64
	s.Epoch, err = binary.ReadVarint(rest)
	for i := 0; i < len(n) && err == nil; i++ {
		n[i], err = binary.ReadUvarint(rest)
	}
	if err != nil || slices.Max(n[:]) > math.MaxInt64 {
		return refuse("is damaged")
	}
	t.Turn, t.Node, t.Version, t.Until = n[0], sequencer.NodeID(n[1]), roster.Version(n[2]), clustertime.Tick(n[3])
	s.Born = attachment.Revision{Term: n[4], Number: n[5]}
	s.Nodes, s.Layout = int(n[6]), Layout{Bits: int(n[7]), LowBits: int(n[8]), Nodes: int(n[9])}
	s.NodeRange = NodeRange{Lo: sequencer.NodeID(n[10]), Hi: sequencer.NodeID(n[11])}
	name := make([]byte, rest.Len())
	_, _ = rest.Read(name)
	s.Name = string(name)
	ref, err := s.Ref()
	if err != nil || max(n[1], n[10], n[11]) > math.MaxUint16 || !ref.HasNode(t.Node) {
		return refuse("has an impossible definition or node")
	}
	return t, nil
}
