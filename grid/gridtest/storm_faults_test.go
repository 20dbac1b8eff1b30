package gridtest_test

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"
)

// fault does something to a grid, and returns what in words; "" if it was not
// possible.
type fault struct {
	weight int
	do     func(s *storm) string
}

var stormFaults = []fault{
	{2, func(s *storm) string { return s.crash("crash", s.pick(s.g.Running())) }},
	{1, (*storm).crashOwnerAndBackup},
	{1, (*storm).crashAll},
	{1, (*storm).stopAll},
	{2, func(s *storm) string { return s.leave("leave", s.pick(s.g.Running())) }},
	{1, (*storm).leaveInPart},
	{6, (*storm).startSome},
	{2, func(s *storm) string { return s.cut("cut", s.g.Network.Cut) }},
	{2, func(s *storm) string { return s.cut("one-way cut", s.g.Network.CutOneWay) }},
	{1, (*storm).isolate},
	{2, (*storm).pause},
	{1, (*storm).pauseClient},
	{1, (*storm).stepClock},
	{1, (*storm).crashClient},
	{1, (*storm).delay},
	{2, (*storm).changeSettings},
	{2, (*storm).remove},
	{3, (*storm).calm},
}

// step does something to the grid.
func (s *storm) step() {
	total := 0
	for _, f := range stormFaults {
		total += f.weight
	}
	n := s.rng.IntN(total)
	for _, f := range stormFaults {
		if n -= f.weight; n < 0 {
			if did := f.do(s); did != "" {
				s.note(did, "")
			}
			return
		}
	}
}

// note counts a fault.
func (s *storm) note(did, whom string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if whom == "" {
		s.counts[did]++
	}
	if *stormLog {
		stormLogger().Warn("STORM", "did", did, "whom", whom)
	}
}

// faults returns how often each fault was made.
func (s *storm) faults() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.counts)
}

func stormLogger() *slog.Logger {
	if *stormLog {
		return slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return slog.New(slog.DiscardHandler)
}

// host is where a member runs.
func (s *storm) host(member string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hosts[member]
}

// mayEnd reports whether members may end without a goodbye. Those with disks may
// at any time. Of those without, a majority of the voters has to stay: so it has to
// be clear who the voters are, and nothing else may be wrong at the time.
func (s *storm) mayEnd(names ...string) bool {
	if s.durable {
		return true
	}
	s.calm()
	for end := time.Now().Add(fullLimit); s.lacking() != ""; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	voters, left := 0, 0
	for _, m := range s.g.Member(s.g.Running()[0]).Status().Members {
		ends := slices.ContainsFunc(names, func(name string) bool {
			return s.g.Member(name).Status().Answering == m.Incarnation
		})
		voters += count(m.Voter)
		left += count(m.Voter && !ends)
	}
	return 2*left > voters
}

// crash ends members abruptly.
func (s *storm) crash(what string, names ...string) string {
	if slices.Contains(names, "") || !s.mayEnd(names...) || len(names) == 0 {
		return ""
	}
	for _, name := range names {
		s.note(what, name)
		s.g.Network.Crash(s.host(name))
	}
	s.g.Crash(names...)
	if !s.durable { // until the leader has other voters
		time.Sleep(10 * time.Second)
	}
	return what
}

func (s *storm) crashOwnerAndBackup() string {
	if len(s.g.Running()) == 0 {
		return ""
	}
	name, by := s.pick(s.names), s.pick(s.g.Running())
	p := partitionOf(s.g, by, name)
	both := slices.DeleteFunc([]string{nameOf(s.g, p.Owner), backupOf(s.g, by, name)},
		func(m string) bool { return m == "" })
	return s.crash("crash of owner and backup", slices.Compact(both)...)
}

// crashAll crashes all members, and starts them again some time later.
func (s *storm) crashAll() string {
	if !s.durable {
		return ""
	}
	all := s.g.Running()
	did := s.crash("crash of all", all...)
	time.Sleep(time.Duration(s.rng.IntN(10_000)) * time.Millisecond)
	s.start(30*time.Second, all...)
	return did
}

// stopAll has all members leave at about the same time.
func (s *storm) stopAll() string {
	all := s.g.Running()
	if !s.durable || len(all) == 0 || s.rng.IntN(2) > 0 {
		return ""
	}
	var wg sync.WaitGroup
	for _, name := range all {
		pause := time.Duration(s.rng.IntN(5000)) * time.Millisecond
		wg.Go(func() {
			time.Sleep(pause)
			s.leave("leave of all", name)
		})
	}
	wg.Wait()
	s.mu.Lock()
	for _, name := range all { // the last ones kept their votes, so they have to come back
		s.gone[name] = false
	}
	s.mu.Unlock()
	s.start(30*time.Second, all...)
	return "leave of all"
}

// leave has a member leave, with some time for it.
func (s *storm) leave(what, name string) string {
	if name == "" || !s.mayEnd(name) || len(s.g.Running()) < 2 && what == "leave" {
		return ""
	}
	s.note(what, name)
	if err := s.g.TryLeave(within(s.t, 10*time.Second), name); err != nil {
		s.g.Network.Crash(s.host(name))
		s.note(what+" without a goodbye", name)
		return what + " without a goodbye"
	}
	s.g.Network.Crash(s.host(name))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone[name] = slices.Index(s.allNames(), name) >= s.members
	return what
}

// leaveInPart has a member begin to leave and crash.
func (s *storm) leaveInPart() string {
	name := s.pick(s.g.Running())
	if name == "" || !s.mayEnd(name) {
		return ""
	}
	s.note("leave in part", name)
	timer := time.AfterFunc(time.Duration(s.rng.IntN(1000))*time.Millisecond, func() { s.g.Network.Crash(s.host(name)) })
	defer timer.Stop()
	if s.g.TryLeave(within(s.t, time.Duration(s.rng.IntN(3000))*time.Millisecond), name) == nil {
		return "leave before the end"
	}
	s.g.Network.Crash(s.host(name))
	return "leave in part"
}

// startSome starts one, or all, of those that do not run, extra ones too.
func (s *storm) startSome() string {
	names := s.stopped()
	if len(names) == 0 {
		return ""
	}
	if s.rng.IntN(2) > 0 {
		names = []string{s.pick(names)}
	}
	if !s.start(10*time.Second, names...) {
		return "start in vain"
	}
	return "start"
}

// start starts members concurrently, and reports whether all started.
func (s *storm) start(limit time.Duration, names ...string) bool {
	for _, name := range names {
		s.choose(name)
		s.note("start", name+" at "+s.host(name))
	}
	var wg sync.WaitGroup
	errs := make([]error, len(names))
	for i, name := range names {
		wg.Go(func() { errs[i] = s.g.TryMember(within(s.t, limit), name) })
	}
	wg.Wait()
	all := true
	for i, name := range names {
		if errs[i] != nil {
			s.note("start in vain: "+errs[i].Error(), name)
			all = false
			continue
		}
		s.mu.Lock()
		s.gone[name] = false
		if s.moving == name {
			s.moving = ""
		}
		s.mu.Unlock()
		s.employ(name)
	}
	return all
}

// choose picks the host that a member is started on. A member has to be known at
// its new host before the next moves: a majority that is not found elects no leader.
func (s *storm) choose(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.moving != "" || s.rng.IntN(4) > 0 {
		return
	}
	s.moving = name
	if s.hosts[name] == name {
		s.hosts[name] = elsewhere(name)
	} else {
		s.hosts[name] = name
	}
	s.counts["move"]++
}

// cut cuts a member from a member or client.
func (s *storm) cut(what string, cut func(a, b string)) string {
	member, host := s.pick(s.g.Running()), fmt.Sprint("c", s.rng.IntN(stormClients))
	other := s.pick(slices.Concat(s.g.Running(), []string{host}))
	if member == "" {
		return ""
	}
	if other != host {
		other = s.host(other)
	}
	a, b := s.host(member), other
	if s.rng.IntN(2) > 0 {
		a, b = b, a
	}
	s.note(what, a+" to "+b)
	cut(a, b)
	return what
}

// isolate cuts a member from all others, or what it sends, or what it gets.
func (s *storm) isolate() string {
	member := s.pick(s.g.Running())
	if member == "" {
		return ""
	}
	kind, a := s.rng.IntN(3), s.host(member)
	for _, other := range s.g.Running() {
		b := s.host(other)
		switch {
		case a == b:
		case kind == 0:
			s.g.Network.Cut(a, b)
		case kind == 1:
			s.g.Network.CutOneWay(a, b)
		default:
			s.g.Network.CutOneWay(b, a)
		}
	}
	s.note("isolate", fmt.Sprint(a, " kind ", kind))
	return "isolate"
}

func (s *storm) pause() string {
	member := s.pick(s.g.Running())
	if member == "" {
		return ""
	}
	s.note("pause", member)
	s.g.Network.Pause(s.host(member))
	return "pause"
}

func (s *storm) pauseClient() string {
	s.g.Network.Pause(fmt.Sprint("c", s.rng.IntN(stormClients)))
	return "client pause"
}

func (s *storm) stepClock() string {
	member := s.pick(s.allNames())
	by := time.Duration(s.rng.Int64N(int64(4*time.Hour))) - 2*time.Hour
	s.note("step", fmt.Sprint(member, " ", by))
	s.g.StepClock(member, by)
	return "step"
}

// crashClient ends a client without a word and dials a new one.
func (s *storm) crashClient() string {
	host := fmt.Sprint("c", s.rng.IntN(stormClients))
	s.g.Network.Crash(host)
	s.mu.Lock()
	c := s.client[host]
	delete(s.client, host)
	s.mu.Unlock()
	if c != nil {
		_ = c.Close()
	}
	s.calm()
	s.dial(host)
	return "client crash"
}

func (s *storm) delay() string {
	d := time.Duration(s.rng.IntN(301)) * time.Millisecond
	s.note("delay", d.String())
	s.g.Network.SetDelay(d)
	return "delay"
}

// calm ends all cuts and pauses.
func (s *storm) calm() string {
	s.g.Network.HealAll()
	for _, name := range s.allNames() {
		s.g.Network.Resume(name)
		s.g.Network.Resume(elsewhere(name))
	}
	for i := range stormClients {
		s.g.Network.Resume(fmt.Sprint("c", i))
	}
	s.note("heal", "all")
	return "heal"
}

// heal ends all faults and starts all members that have not left for good, and the clients
// without an answer.
func (s *storm) heal() {
	s.g.Network.SetDelay(0)
	s.calm()
	names := slices.DeleteFunc(s.stopped(), func(name string) bool { return s.gone[name] })
	if !s.start(startLimit, names...) {
		s.t.Errorf("not all of %v start within %v of the heal", names, startLimit)
	}
	for i := range stormClients {
		if host := fmt.Sprint("c", i); s.client[host] == nil {
			s.dial(host)
		}
	}
	if len(s.client) < stormClients {
		s.t.Errorf("only %d of %d clients are answered after the heal", len(s.client), stormClients)
	}
}
