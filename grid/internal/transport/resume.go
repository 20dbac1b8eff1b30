package transport

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// resumeLook is the interval at which a request that waits looks whether it is still wanted.
const resumeLook = time.Second

// resumes wakes requests that wait until a server answers heartbeats again.
//
// After each failed request Raft waits before the next one to that server, up to 10 s, and nothing but a success
// shortens that. A voter that was down for half a minute would so receive no entries for up to 10 s after its return,
// and could not replace another one in the majority. Heartbeats have a shorter pause of their own. So a request that
// failed is sent again after the next heartbeat that succeeds, and Raft sees only the success.
type resumes struct {
	mu sync.Mutex
	of map[raft.ServerID]chan struct{} // closed at the next heartbeat that succeeds
}

// next returns a channel that is closed at the next heartbeat to a server that succeeds.
func (r *resumes) next(id raft.ServerID) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[raft.ServerID]chan struct{}{}
	}
	if r.of[id] == nil {
		r.of[id] = make(chan struct{})
	}
	return r.of[id]
}

func (r *resumes) answered(id raft.ServerID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if wake := r.of[id]; wake != nil {
		close(wake)
		delete(r.of, id)
	}
}

// drop forgets the channel of a server, which may not return.
func (r *resumes) drop(id raft.ServerID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.of, id)
}

// await waits for the next heartbeat to a server that succeeds. It reports false when the transport is closed, or the
// request is no longer wanted.
func (t *GuardedRaft) await(id raft.ServerID, term uint64) bool {
	defer t.resumes.drop(id)
	look := time.NewTicker(resumeLook)
	defer look.Stop()
	for t.wants(id, term) {
		select {
		case <-t.end:
			return false
		case <-t.resumes.next(id):
			return true
		case <-look.C:
		}
	}
	return false
}

// wants reports whether this server leads in a term, and has another one in its configuration or roster.
func (t *GuardedRaft) wants(id raft.ServerID, term uint64) bool {
	view := t.view.Load()
	if view == nil {
		return false
	}
	v := (*view)()
	return v.leader == v.self && v.term == term && v.knows(id)
}

// isHeartbeat reports whether a request is a heartbeat, as Raft's own transport does.
func isHeartbeat(in *raft.AppendEntriesRequest) bool {
	return in.PrevLogEntry == 0 && in.PrevLogTerm == 0 && len(in.Entries) == 0 && in.LeaderCommitIndex == 0
}
