package transport

import (
	"errors"
	"math"
	"testing"

	"github.com/hashicorp/raft"
)

// follower is the view of a server that follows m1 and knows m2 too.
func follower() RaftView {
	return RaftView{
		self: "me", term: 7, leader: "m1", inTouch: true,
		knows: func(id raft.ServerID) bool { return id == "me" || id == "m1" || id == "m2" },
		votes: func(id raft.ServerID) bool { return id == "me" || id == "m1" },
		last:  func() (index, term uint64) { return 20, 6 },
	}
}

func headerOf(id raft.ServerID) raft.RPCHeader {
	return raft.RPCHeader{ProtocolVersion: 3, ID: []byte(id), Addr: []byte(RaftAddress(id, "host:1"))}
}

// TestRaftTermsThatAreBelieved has the limits of a term for a server that has a log
// and for one that has none.
func TestRaftTermsThatAreBelieved(t *testing.T) {
	for _, c := range []struct {
		view     RaftView
		term     uint64
		believed bool
	}{
		{RaftView{term: 7}, 0, true},
		{RaftView{term: 7}, 7 + raftTermStep, true},
		{RaftView{term: 7}, 8 + raftTermStep, false},
		{RaftView{term: 7}, math.MaxUint64, false},
		{RaftView{empty: true}, raftFirstTerm, true},
		{RaftView{empty: true}, raftFirstTerm + 1, false},
		{RaftView{empty: true}, math.MaxUint64, false},
	} {
		if err := c.view.believes(c.term); (err == nil) != c.believed || err != nil && !errors.Is(err, errTermTooHigh) {
			t.Errorf("a server at term %d, empty %v, and term %d: %v", c.view.term, c.view.empty, c.term, err)
		}
	}
}

// TestRaftSendersThatAreBelieved: votes and entries are accepted from known servers, or
// from others without a leader, and a transfer of the lead from the leader.
func TestRaftSendersThatAreBelieved(t *testing.T) {
	lost := follower()
	lost.inTouch, lost.leader = false, ""
	behind := follower() // of a leader that joined after all that its log has
	behind.followed = "m9"
	fresh := RaftView{self: "me", empty: true, knows: func(raft.ServerID) bool { return false }}
	learner := follower() // it follows m1 by pushes, and its Raft server has no log
	learner.leader, learner.inTouch, learner.empty, learner.learns = "", false, true, true
	votes := func(h raft.RPCHeader) []any {
		return []any{&raft.RequestVoteRequest{RPCHeader: h, Term: 8}, &raft.RequestPreVoteRequest{RPCHeader: h, Term: 8}}
	}
	leads := func(h raft.RPCHeader) []any {
		return []any{&raft.AppendEntriesRequest{RPCHeader: h, Term: 8}, &raft.InstallSnapshotRequest{
			RPCHeader: h, Term: 8, SnapshotVersion: raft.SnapshotVersionMax, Configuration: configurationOf("m1"),
		}}
	}
	passes := func(h raft.RPCHeader) []any { return []any{&raft.TimeoutNowRequest{RPCHeader: h}} }
	for what, c := range map[string]struct {
		view     RaftView
		requests []any
		believed bool
	}{
		"a vote for a known server":            {follower(), votes(headerOf("m2")), true},
		"a vote for an unknown one":            {follower(), votes(headerOf("evil")), false},
		"a vote for an unknown one, out of it": {lost, votes(headerOf("m9")), true},
		"a vote without a name, out of it":     {lost, votes(raft.RPCHeader{}), false},
		"its own name, out of touch":           {lost, votes(headerOf("me")), false},
		"a vote without a name":                {follower(), votes(raft.RPCHeader{}), false},
		"a vote for another's address": {follower(),
			votes(raft.RPCHeader{ID: []byte("m2"), Addr: []byte(RaftAddress("evil", "host:1"))}), false},
		"a vote in the server's own name":         {follower(), votes(headerOf("me")), false},
		"a vote at a server without a log":        {fresh, votes(headerOf("m2")), true},
		"entries of a known server":               {follower(), leads(headerOf("m2")), true},
		"entries of the one that it follows":      {behind, leads(headerOf("m9")), true},
		"a vote for the one that it followed":     {behind, votes(headerOf("m9")), true},
		"entries of an unknown one":               {follower(), leads(headerOf("evil")), false},
		"entries of an unknown one, out of it":    {lost, leads(headerOf("evil")), true},
		"entries in the server's own name":        {lost, leads(headerOf("me")), false},
		"the first leader":                        {fresh, leads(headerOf("m1")), true},
		"entries of a known server, at a learner": {learner, leads(headerOf("m1")), true},
		"entries of an unknown one, at a learner": {learner, leads(headerOf("evil")), false},
		"a vote for an unknown one, at a learner": {learner, votes(headerOf("evil")), false},
		"the lead passed on by the leader":        {follower(), passes(headerOf("m1")), true},
		"the lead passed on by another":           {follower(), passes(headerOf("m2")), false},
		"the lead passed on at a new server":      {fresh, passes(raft.RPCHeader{}), false},
		"a request that Raft does not know yet":   {follower(), []any{"?"}, false},
	} {
		for _, request := range c.requests {
			if err := c.view.admit(request); (err == nil) != c.believed {
				t.Errorf("%s, %T: %v", what, request, err)
			}
		}
	}
}

// TestRaftVotesByLogAlone: a server that hears from no leader asks nothing of a candidate
// but its term and its log, since its own configuration may be old.
func TestRaftVotesByLogAlone(t *testing.T) {
	lost := follower()
	lost.inTouch, lost.leader = false, ""
	behind := follower() // out of touch, and still catching up with a leader
	behind.inTouch = false
	fresh := RaftView{self: "me", empty: true}
	for what, c := range map[string]struct {
		view  RaftView
		from  raft.ServerID
		byLog bool
	}{
		"in touch, a voter":                    {follower(), "m1", false},
		"in touch, one without a vote":         {follower(), "m2", false},
		"in touch, an unknown one":             {follower(), "m9", false},
		"a leader that it may still follow":    {behind, "m9", false},
		"no leader, a voter":                   {lost, "m1", false},
		"no leader, one without a vote":        {lost, "m2", true},
		"no leader, an unknown one":            {lost, "m9", true},
		"no configuration: Raft asks for none": {fresh, "m9", false},
	} {
		vote := &raft.RequestVoteRequest{RPCHeader: headerOf(c.from), Term: 8, LastLogIndex: 20, LastLogTerm: 6}
		passed, answer := c.view.voting(vote)
		sent, _ := passed.(*raft.RequestVoteRequest)
		if answer != nil || sent == nil || (sent.ID == nil) != c.byLog || string(sent.Addr) != string(vote.Addr) ||
			sent.Term != 8 || vote.ID == nil {
			t.Errorf("%s: a vote is passed on as %+v, answered by %+v", what, passed, answer)
		}
		before := &raft.RequestPreVoteRequest{RPCHeader: headerOf(c.from), Term: 8, LastLogIndex: 20, LastLogTerm: 6}
		if passed, answer := c.view.voting(before); (passed == nil) != c.byLog || (answer != nil) != c.byLog {
			t.Errorf("%s: a pre-vote is passed on as %+v, answered by %+v", what, passed, answer)
		}
	}
	for what, c := range map[string]struct {
		term, index, last uint64
		granted           bool
	}{
		"the same log":  {8, 20, 6, true},
		"a longer one":  {8, 21, 6, true},
		"a later one":   {8, 3, 7, true},
		"a shorter one": {8, 19, 6, false},
		"an older one":  {8, 90, 5, false},
		"an older term": {6, 20, 6, false},
	} {
		_, answer := lost.voting(&raft.RequestPreVoteRequest{RPCHeader: headerOf("m9"), Term: c.term, LastLogIndex: c.index,
			LastLogTerm: c.last})
		got, _ := answer.(*raft.RequestPreVoteResponse)
		if got == nil || got.Granted != c.granted || got.Term != max(7, c.term) {
			t.Errorf("%s: %+v", what, got)
		}
	}
	index, term := lastOf(map[string]string{"last_log_index": "9", "last_log_term": "3", "last_snapshot_index": "7",
		"last_snapshot_term": "2"})
	if index != 9 || term != 3 {
		t.Errorf("the last entry of a log is %d of term %d", index, term)
	}
	if index, term = lastOf(map[string]string{"last_log_index": "0", "last_log_term": "0", "last_snapshot_index": "7",
		"last_snapshot_term": "2"}); index != 7 || term != 2 {
		t.Errorf("the last entry of a snapshot is %d of term %d", index, term)
	}
}

// configurationOf is a configuration with voters.
func configurationOf(voters ...raft.ServerID) []byte {
	var c raft.Configuration
	for _, id := range voters {
		c.Servers = append(c.Servers, raft.Server{ID: id, Address: RaftAddress(id, "host:1")})
	}
	return raft.EncodeConfiguration(c)
}

// TestRaftEntriesThatAreBelieved: entries of a leader are accepted, except those over which
// Raft panics or that leave a gap.
func TestRaftEntriesThatAreBelieved(t *testing.T) {
	ordinary := func() *raft.AppendEntriesRequest {
		return &raft.AppendEntriesRequest{
			RPCHeader: headerOf("m1"), Term: 9, PrevLogEntry: 4, PrevLogTerm: 7,
			Entries: []*raft.Log{
				{Index: 5, Term: 7, Type: raft.LogCommand}, {Index: 6, Term: 8, Type: raft.LogNoop},
				{Index: 7, Term: 9, Type: raft.LogConfiguration, Data: configurationOf("m1", "m2")},
				{Index: 8, Term: 9, Type: raft.LogBarrier},
			},
		}
	}
	if err := follower().admit(ordinary()); err != nil {
		t.Error(err)
	}
	for what, change := range map[string]func(*raft.AppendEntriesRequest){
		"a missing entry": func(r *raft.AppendEntriesRequest) { r.Entries[1] = nil },
		"a gap":           func(r *raft.AppendEntriesRequest) { r.Entries[3].Index = 9 },
		"an entry twice":  func(r *raft.AppendEntriesRequest) { r.Entries[3].Index = 7 },
		"the end of all indices": func(
			r *raft.AppendEntriesRequest) {
			r.PrevLogEntry = math.MaxUint64
			r.Entries[0].Index = 0
		},
		"a term that goes back":          func(r *raft.AppendEntriesRequest) { r.Entries[3].Term = 8 },
		"a term before that":             func(r *raft.AppendEntriesRequest) { r.Entries[0].Term = 6 },
		"a later term than the leader's": func(r *raft.AppendEntriesRequest) { r.Entries[3].Term = 10 },
		"a previous one of a later term": func(r *raft.AppendEntriesRequest) { r.PrevLogTerm, r.Entries = 10, nil },
		"an unknown type":                func(r *raft.AppendEntriesRequest) { r.Entries[3].Type = 9 },
		"a type of earlier protocols": func(
			r *raft.AppendEntriesRequest) {
			r.Entries[3].Type = raft.LogAddPeerDeprecated
		},
		"a configuration that is none":   func(r *raft.AppendEntriesRequest) { r.Entries[2].Data = []byte{0xc1} },
		"a configuration without voters": func(r *raft.AppendEntriesRequest) { r.Entries[2].Data = configurationOf() },
		"a server without a name": func(r *raft.AppendEntriesRequest) {
			r.Entries[2].Data = configurationOf("m1",
				"")
		},
		"an absurd term": func(r *raft.AppendEntriesRequest) { r.Term = math.MaxUint64 },
	} {
		r := ordinary()
		change(r)
		if err := follower().admit(r); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
}

// TestRaftSnapshotsThatAreBelieved: the head of a snapshot is checked before Raft sees
// it.
func TestRaftSnapshotsThatAreBelieved(t *testing.T) {
	ordinary := func() *raft.InstallSnapshotRequest {
		return &raft.InstallSnapshotRequest{
			RPCHeader: headerOf("m1"), Term: 9, LastLogIndex: 4, LastLogTerm: 7, SnapshotVersion: raft.SnapshotVersionMax,
			Configuration: configurationOf("m1"), Size: 10,
		}
	}
	if err := follower().admit(ordinary()); err != nil {
		t.Error(err)
	}
	for what, change := range map[string]func(*raft.InstallSnapshotRequest){
		"a later term":          func(r *raft.InstallSnapshotRequest) { r.LastLogTerm = 10 },
		"an absurd term":        func(r *raft.InstallSnapshotRequest) { r.Term = math.MaxUint64 },
		"an old version":        func(r *raft.InstallSnapshotRequest) { r.SnapshotVersion = raft.SnapshotVersionMin },
		"an endless one":        func(r *raft.InstallSnapshotRequest) { r.Size = raftRequestMax + 1 },
		"a negative size":       func(r *raft.InstallSnapshotRequest) { r.Size = -1 },
		"a configuration":       func(r *raft.InstallSnapshotRequest) { r.Configuration = []byte{0xc1} },
		"an empty one":          func(r *raft.InstallSnapshotRequest) { r.Configuration = configurationOf() },
		"another leader's name": func(r *raft.InstallSnapshotRequest) { r.RPCHeader = headerOf("evil") },
	} {
		r := ordinary()
		change(r)
		if err := follower().admit(r); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
}

// TestRaftAnswersThatAreBelieved: a candidate takes a higher term from an answer too.
func TestRaftAnswersThatAreBelieved(t *testing.T) {
	var told []error
	g := &GuardedRaft{refused: func(err error) { told = append(told, err) }}
	if err := g.answered(nil, 7, 7+raftTermStep); err != nil || len(told) > 0 {
		t.Errorf("an ordinary answer: %v", err)
	}
	if err := g.answered(nil, 7, 8+raftTermStep); !errors.Is(err, errTermTooHigh) || len(told) != 1 {
		t.Errorf("an absurd answer: %v", err)
	}
	failed := errors.New("no answer")
	if err := g.answered(failed, 7, math.MaxUint64); !errors.Is(err, failed) {
		t.Errorf("no answer: %v", err)
	}
}
