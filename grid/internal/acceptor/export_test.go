package acceptor

import "time"

// Stop has the acceptor see that the process stood still for a time.
func (a *Acceptor) Stop(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.looked = a.looked.Add(-d)
}

// Left returns how many handshakes are unfinished and how many streams wait.
func (a *Acceptor) Left() (pending, waiting int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.pending), a.waiting.count
}
