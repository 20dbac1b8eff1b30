package grid

// What the tests in package grid_test need: they use gridtest, which imports
// grid.
type (
	GossipTransport       = gossipTransport
	GossipTransportConfig = gossipTransportConfig
	Greeting              = greeting
	Preamble              = preamble
	RealNetwork           = realNetwork
)

const (
	HandshakeTimeout = handshakeTimeout
	HandshakesMax    = handshakesMax
	GossipProtocol   = gossipProtocol
)

var (
	NewGossipTransport = newGossipTransport
	ReadGreeting       = readGreeting
	NewRaftStream      = newRaftStream
	RaftAddress        = raftAddress
	CutRaftAddress     = cutRaftAddress
	ReadPreamble       = readPreamble
	OpenRaftLog        = openRaftLog
	EncodeEntry        = encodeEntry
	DecodeEntry        = decodeEntry
	ErrKeyNotFound     = errKeyNotFound
	ErrBadEntry        = errBadEntry
	Lookup             = lookupAddrs
)

func NewGreeting(protocol byte, name string) Greeting { return greeting{protocol, name} }
func (g greeting) Encode() []byte                     { return g.encode() }

func NewPreamble(grid [16]byte, target string) Preamble { return preamble{grid, target} }
func (p preamble) Encode() []byte                       { return p.encode() }

func (t *gossipTransport) Addr() string   { return t.addr() }
func (t *gossipTransport) Refusal() error { return t.refusal() }
