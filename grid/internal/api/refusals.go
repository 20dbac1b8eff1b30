package api

import (
	"sync"
	"time"
)

// refusalLasts is for how long a call that a certificate ended explains what a member lacks. A member without a grid
// calls others more often.
const refusalLasts = 15 * time.Second

// Refusals has the last call to a member that a certificate ended, of either side. The zero value has none.
type Refusals struct {
	mu   sync.Mutex // guards the fields below
	text string
	at   time.Time
}

// note records a call that a certificate ended.
func (r *Refusals) note(err error) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text, r.at = err.Error(), time.Now()
}

// Last returns the last error, "" if there was none of late.
func (r *Refusals) Last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.at) > refusalLasts {
		return ""
	}
	return r.text
}
