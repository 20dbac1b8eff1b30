package grid

import (
	"cmp"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
)

// MemberReport is a member's description of itself.
type MemberReport struct {
	NotReady   string `json:"not_ready,omitempty"`
	DiskFailed string `json:"disk_failed,omitempty"` // why it takes part no longer, or not now
	// ClockOffset is the lead of its wall clock over cluster time, 0 while cluster time is unknown.
	ClockOffset Milliseconds `json:"clock_offset_ms"`
	// CertificateExpiry is the end of its TLS certificate, or of its authority if that is first;
	// zero without TLS.
	CertificateExpiry time.Time `json:"certificate_expiry,omitzero"`
	// Expect is the configured number of members that form the grid, 0 for none.
	Expect int `json:"expect,omitempty"`
	// Learner means that it has no Raft server, and receives the roster by the leader's pushes.
	Learner bool `json:"learner,omitempty"`
	// Unreached are the members that do not answer it, while others do.
	Unreached []string `json:"unreached,omitempty"`
	// WithoutUDP are the gossip addresses of the members that answer it over TCP alone.
	WithoutUDP []string `json:"without_udp,omitempty"`
	// NoDescriptors is the reason if it ran out of file descriptors within the last minute.
	NoDescriptors string `json:"no_descriptors,omitempty"`
	// UnresolvedJoin are the entries of its Config.Join that have not led to an address for a minute, with
	// the errors; 16 at most.
	UnresolvedJoin []string `json:"unresolved_join,omitempty"`
	// GossipKeys are the fingerprints of its gossip keys; it encrypts with the first.
	GossipKeys []string `json:"gossip_keys,omitempty"`
}

// report returns this member's description of itself.
func (o *overview) report(s *Status) *MemberReport {
	r := &MemberReport{
		NotReady: s.NotReady, CertificateExpiry: o.creds.expiry(), Learner: o.raft.Node().Learns(),
		Unreached: texts(o.host.Unreached()), Expect: o.health.formation.Expect(), WithoutUDP: o.gossip.WithoutUDP(),
		NoDescriptors: o.files.exhausted(), UnresolvedJoin: s.UnresolvedJoin,
		GossipKeys: fingerprints(o.gossip.Keys()),
	}
	if err := cmp.Or(o.raft.DiskFailure(), o.raft.DiskHang()); err != nil {
		r.DiskFailed = err.Error()
	}
	if !s.ClusterTime.IsZero() {
		r.ClockOffset = Milliseconds(s.Wall.Sub(s.ClusterTime).Milliseconds())
	}
	return r
}

// diskCause returns why the member's disk failed or hangs without the advice, which alerts state once; "" if it works.
func (r *MemberReport) diskCause() string {
	if r == nil {
		return ""
	}
	return strings.TrimSuffix(r.DiskFailed, "; "+raftlog.DiskAdvice)
}

// takeReport records a member's description of itself.
func (s *Status) takeReport(of string, r *MemberReport) {
	for i := range s.Members {
		if s.Members[i].Incarnation == of {
			s.Members[i].Report = r
		}
	}
}

// reportOf returns a member's description of itself, nil if unknown.
func (s *Status) reportOf(of string) *MemberReport {
	for _, m := range s.Members {
		if m.Incarnation == of {
			return m.Report
		}
	}
	return nil
}
