package s3

import (
	"sync"
	"time"
)

// dateDrift bounds the difference between the rates of this machine's clock and the
// server's, per second since the sample.
const dateDrift = time.Millisecond

// date estimates the server's clock from the Date headers of its responses.
type date struct {
	mu     sync.Mutex
	known  bool
	at     time.Time // the sample's time, with a monotonic reading
	server time.Time // the middle of the server's possible times then
	within time.Duration
}

// sample counts one response that arrived at a moment, round after its request was sent.
// A header has whole seconds, so the server's clock is between header, and header plus one
// second plus round.
func (d *date) sample(header, arrived time.Time, round time.Duration) {
	within := (time.Second + max(round, 0)) / 2
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known {
		if _, older := d.estimate(arrived); older < within && d.agrees(header, arrived, within) {
			return
		}
	}
	d.known, d.at, d.server, d.within = true, arrived, header.Add(within), within
}

// agrees reports whether the kept sample and a new one can both be right. If not, a clock
// was set, and the newer sample counts.
func (d *date) agrees(header, arrived time.Time, within time.Duration) bool {
	now, older := d.estimate(arrived)
	return now.Sub(header.Add(within)).Abs() <= older+within
}

func (d *date) estimate(now time.Time) (time.Time, time.Duration) {
	since := now.Sub(d.at)
	return d.server.Add(since), d.within + time.Duration(since.Abs().Seconds()*float64(dateDrift))
}

// time returns the server's clock now.
func (d *date) time(now time.Time) (time.Time, time.Duration, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.known {
		return time.Time{}, 0, false
	}
	server, within := d.estimate(now)
	return server, within, true
}
