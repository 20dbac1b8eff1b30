package main

var (
	membershipTests = []string{"./grid/gridtest", "-run", "TestPausedMember|TestShortPause|TestUnsubscribe|TestSubscribe|TestDebugPaths"}
	discoveryTests  = []string{"./grid/internal/discovery", "-run", "TestNames|TestMany|TestUnresolved|TestAddressFile|TestEntries"}
	paceTests       = []string{"./grid/internal/gossip", "-run", "TestPace"}
	peersTests      = []string{"./grid/internal/gossip", "-run", "TestPeersAre"}
)

// membershipMutants weaken the paths under /membership, the gossip rate, and discovery.
var membershipMutants = []mutant{
	{"G11", "a member that answers again stays failing", "grid/internal/gossip/suspects.go", "	delete(g.failing, roster.Incarnation(n.Name))\n}", "}", membershipTests},
	{"G11", "a probe that failed is not noted", "grid/internal/gossip/suspects.go", "		g.failing[inc] = struct{}{}\n", "", membershipTests},
	{"G11", "the dead are suspected", "grid/internal/gossip/suspects.go", "peer && s.State == memberlist.StateSuspect", "peer && s.State == memberlist.StateDead", membershipTests},
	{"G12", "a pause does not hold datagrams back", "grid/internal/transport/gate.go", "	s.gate.Wait(s.closed)\n	return s.PacketConn.WriteTo(b, to)", "	return s.PacketConn.WriteTo(b, to)", []string{"./grid/internal/transport", "-run", "TestGate"}},
	{"G12", "a pause does not hold streams back", "grid/internal/transport/gate.go", "	c.gate.Wait(c.closed)\n	return c.Conn.Write(b)", "	return c.Conn.Write(b)", []string{"./grid/internal/transport", "-run", "TestGate"}},
	{"G11", "the paths for debugging are there for every machine", "grid/internal/api/routes.go", "!known || t.local[r.URL.Path] && !isLocal(r)", "!known", membershipTests},
	{"G11", "the paths for debugging are there for other names of this machine", "grid/internal/api/path.go", "ip.Unmap().IsLoopback() && IsLoopback(r.Host)", "ip.Unmap().IsLoopback()", []string{"./grid/internal/api", "-run", "TestLocal"}},
	{"G11", "the paths for debugging are there by a proxy", "grid/internal/api/path.go", `r.Header.Get("Forwarded") != "" || r.Header.Get("X-Forwarded-For") != ""`, "false", []string{"./grid/internal/api", "-run", "TestLocal"}},
	{"G5", "a member is made to leave in the name of another", "grid/membership.go", `in.ID != "" && in.ID != string(s.self)`, `in.ID == "none"`, membershipTests},
	{"G2", "a member of another grid of the name is joined without an error", "grid/internal/gossip/subscribe.go", "strings.Contains(err.Error(), errForeign.Error())", "strings.Contains(err.Error(), errForeign.Error()+err.Error())", membershipTests},
	{"R7", "the list of peers lacks those that have come since", "grid/internal/gossip/peers.go", "	g.alive[p.Incarnation], g.said[p.Incarnation] = p, said\n	g.peers = nil\n", "	g.alive[p.Incarnation], g.said[p.Incarnation] = p, said\n", peersTests},
	{"R7", "the list of peers has those that have gone since", "grid/internal/gossip/peers.go", "		delete(g.alive, inc)\n		g.peers = nil\n", "		delete(g.alive, inc)\n", peersTests},
	{"G16", "a timeout of the whole interval", "grid/internal/gossip/pace.go", "p.Timeout >= interval", "p.Timeout > interval", paceTests},
	{"G16", "a member whose probes fail probes ever more seldom", "grid/internal/gossip/pace.go", "min(conf.AwarenessMaxMultiplier, int(probeMost/p.Interval))", "conf.AwarenessMaxMultiplier", paceTests},
	{"G16", "news waits for slow probes", "grid/internal/gossip/pace.go", "min(2*p.withDefaults().Interval, spreadMax)", "p.withDefaults().Interval", paceTests},
	{"Dc", "an outage of the DNS forgets addresses", "grid/internal/discovery/discovery.go", "		if err == nil && f.replace(s, addrs) {\n", "		if f.replace(s, addrs) {\n", discoveryTests},
	{"Dc", "a name that does not resolve is not reported", "grid/internal/discovery/discovery.go", "		f.note(s, failed, time.Now())\n", "", discoveryTests},
	{"Dc", "a name in a file that does not resolve is not reported", "grid/internal/discovery/discovery.go", "cmp.Or(err, s.failed)", "cmp.Or(err, nil)", discoveryTests},
	{"Dc", "all entries together may have any number of addresses", "grid/internal/discovery/discovery.go", "	return out[:min(len(out), maxAllAddrs)]", "	return out", discoveryTests},
	{"Dc", "an entry that cannot be resolved is tried at a constant pace", "grid/internal/discovery/discovery.go", "retryFirst<<min(p.failures, 10)", "retryFirst", discoveryTests},
	{"Dc", "a file is used without a line that is wrong", "grid/internal/discovery/source.go", "			return nil, fmt.Errorf(\"%s: line %d: %w\", path, n, err)\n", "			continue\n", discoveryTests},
	{"Dc", "names in a file are resolved each time it is read", "grid/internal/discovery/source.go", "now.Sub(s.resolved) < refreshEvery", "false", discoveryTests},
	{"Dc", "a file that is a device or a pipe is read", "grid/internal/discovery/source.go", "!info.Mode().IsRegular()", "!info.Mode().IsRegular() && !info.IsDir()", discoveryTests},
}
