package calls

import "sync/atomic"

// dialCounts are the attempts to open a connection.
type dialCounts struct{ dials, failures atomic.Uint64 }

func (d *dialCounts) count(err error) {
	d.dials.Add(1)
	if err != nil {
		d.failures.Add(1)
	}
}

// Dials returns the number of attempts to open a connection, and the number of failed ones.
func (p *Pool) Dials() (dials, failures uint64) {
	return p.dialed.dials.Load(), p.dialed.failures.Load()
}
