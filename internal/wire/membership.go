package wire

// The paths under /membership belong to a gossip membership service with clients that can also use a
// grid. They are unversioned, and their JSON has that service's field names.
const (
	PathMembershipSize        = "/membership/size"
	PathMembershipNodes       = "/membership/nodes"
	PathMembershipSubscribe   = "/membership/subscribe"
	PathMembershipUnsubscribe = "/membership/unsubscribe"
	PathMembershipState       = "/membership/debug/state-info"
	PathMembershipPause       = "/membership/debug/pause"
	PathMembershipShutdown    = "/membership/debug/shutdown"
)

// MembershipNode is one member: its incarnation, its IP, and its gossip and API ports.
type MembershipNode struct {
	ID           string `json:"id"`
	Address      string `json:"address"`
	ProtocolPort int    `json:"protocolPort"`
	ServicePort  int    `json:"servicePort"`
}

// SubscribeResponse answers POST /membership/subscribe. It is empty, since members exchange the rest
// by gossip.
type SubscribeResponse struct {
	Nodes                  []MembershipNode `json:"nodes"` // ascending by id
	RumorsToSend           []string         `json:"rumorsToSend"`
	SuspectingNodesTimeout map[string]int64 `json:"suspectingNodesTimeout"`
}

// MembershipState is a member's own view of the others: incarnations, each list ascending.
type MembershipState struct {
	Nodes      []string `json:"nodes"`      // that are not removed, this one too
	Suspecting []string `json:"suspecting"` // suspected by this member, or by gossip
	Failing    []string `json:"failing"`    // that did not answer this member's last direct probe
}
