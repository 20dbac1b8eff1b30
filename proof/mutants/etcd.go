package main

// etcdMutants weaken the store in etcd. E and EH are facts about workers in the original model.
var etcdMutants = []mutant{
	{"H1", "the record may have changed since it was read", "client/etcd/revision.go", `		clientv3.Compare(clientv3.ModRevision(p.path), "=", r.record),`, "", etcdTests},
	{"E6", "last_reported_time may have changed since it was read", "client/etcd/revision.go", `		clientv3.Compare(clientv3.ModRevision(p.reported), "=", r.reported),`, "", etcdTests},
	{"EH9", "the live key may have changed since it was read", "client/etcd/revision.go", `		clientv3.Compare(clientv3.ModRevision(p.live), "=", r.live),`, "", etcdTests},
	{"EH6", "a transaction that the client repeated counts as refused", "client/etcd/swap.go", " || (sameBody(done.now.record, w.body) && hasNonce(w.body))", "", etcdTests},
	{"H4", "another write of one body counts as this one", "client/etcd/swap.go", "if sameBody(now, e.Body) && hasNonce(e.Body) {", "if sameBody(now, e.Body) {", etcdTests},
	{"EH6", "a claim that is sent again gets another lease", "client/etcd/leases.go", "ok && time.Now().Before(have.ends)", "ok && false", etcdTests},
	{"EH11", "the lease of a refused claim stays", "client/etcd/swap.go", "		s.revoke(ctx, h, granted.id)\n", "", etcdTests},
	{"EH11", "the lease of a lost record stays", "client/etcd/swap.go", "		s.revoke(ctx, h, mine.id)\n", "", etcdTests},
	{"E9", "a return leaves the live key", "client/etcd/swap.go", "	if w.seen.live != 0 {\n\t\tops", "	if false {\n\t\tops", etcdTests},
	{"E9", "a return leaves the lease", "client/etcd/swap.go", "		s.revoke(ctx, h, done.deleted)\n", "		_ = h\n", etcdTests},
	{"E7", "a renewal does not keep the lease alive", "client/etcd/swap.go", "s.keepAlive(keeping, h, mine)", "_, _ = s.keepAlive, keeping", etcdTests},
	{"E7", "a return does not report the last time used", "client/etcd/swap.go", "r.LastUsed == r.Bound-1 && r.LastUsed > 0", "false", etcdTests},
	{"E5", "a node that was just reported is free", "client/etcd/view.go", "	case recent > tick:", "	case false:", etcdTests},
	{"E6", "IDs begin where a report ends", "client/etcd/view.go", "limited(last.Add(spanOf(reportLag)))", "last", etcdTests},
	{"E6", "a report counts only below the bound", "client/etcd/view.go", "	if last < bound {", "	if last <= bound {", etcdTests},
	{"E10", "a record outlives its lease", "client/etcd/view.go", "if r.State == record.Held && n.live == nil {", "if false {", etcdTests},
	{"E10", "a holder whose lease ended has returned its node", "client/etcd/view.go", "record.Free, false, nil", "record.Free, true, nil", etcdTests},
	{"E2", "a worker of the original that took a node over is ours", "client/etcd/view.go", " || n.live.ModRevision > n.record.ModRevision", "", etcdTests},
	{"E2", "a worker of the original does not hold its node", "client/etcd/view.go", "	case foreign:", "	case false && foreign:", etcdTests},
	{"mixed", "last_reported_time lies below the grant", "client/etcd/swap.go", "		return r.Bound - 1, r.Bound > 0", "		return r.LastUsed, r.LastUsed > 0", etcdTests},
	{"mixed", "reports are seldom", "client/etcd/swap.go", "s.cfg.CompatMixed && r.Until.Sub(r.From) > spanOf(window)", "false", etcdTests},
	{"E1", "a lease ends with its window", "client/etcd/leases.go", ".Duration()) + leaseMargin", ".Duration())", etcdTests},
	{"EH13", "a watch ends when its revision was compacted", "client/etcd/watch.go", "if !compacted || ctx.Err() != nil {", "if true {", etcdTests},
	{"EH13", "a watch continues after a compaction without a list", "client/etcd/watch.go", "for _, e := range all {", "for _, e := range all[:0] {", etcdTests},
	{"watch", "renewals are told", "client/etcd/swap.go", `s.commit(ctx, "renew", w, s.puts(w, r))`, `s.commit(ctx, "renew", w, s.puts(w, r, s.tells(w.key)))`, etcdTests},
	{"watch", "a return is not told", "client/etcd/swap.go", "	ops := s.puts(w, r, s.tells(w.key))", "	ops := s.puts(w, r)", etcdTests},
	{"watch", "a claim is not told", "client/etcd/swap.go", "clientv3.WithLease(granted.id)), s.tells(w.key)))", "clientv3.WithLease(granted.id))))", etcdTests},
	{"watch", "the end of a lease is not told", "client/etcd/watch.go", "	follow(string(s.at), clientv3.WithPrefix(), clientv3.WithFilterPut())\n", "", etcdTests},
}

// etcdTests leave out the tests that run for long.
var etcdTests = []string{"-C", "client/etcd", ".", "-skip", "^Test(Starters|StoppedHolder|Outages|MixedFleet)$"}
