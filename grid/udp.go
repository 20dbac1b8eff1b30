package grid

import (
	"fmt"
	"net"
	"slices"
	"strings"
)

// checkUDP looks for members that report others which answer gossip over TCP alone.
func checkUDP(s Status) (Severity, string) {
	var blocked, ports []string
	for _, m := range s.Members {
		if m.Report == nil || len(m.Report.WithoutUDP) == 0 {
			continue
		}
		blocked = append(blocked, fmt.Sprintf("from %s to %s", m.who(), strings.Join(m.Report.WithoutUDP, ", ")))
		for _, addr := range m.Report.WithoutUDP {
			if _, port, err := net.SplitHostPort(addr); err == nil {
				ports = append(ports, port)
			}
		}
	}
	slices.Sort(ports)
	return about(blocked, Warning, "gossip gets no answer over UDP, and uses TCP, which is slow: %s; allow UDP besides "+
		"TCP on all members' gossip ports (%s)",
		subjects(blocked), subjects(slices.Compact(ports)))
}
