package sim

import (
	"time"
)

// event is a function to call at a time. Events at the same time run in insertion order.
type event struct {
	at  time.Duration
	seq uint64
	do  func()
}

func (e event) before(o event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

// queue is a binary heap of events.
type queue struct {
	heap []event
	seq  uint64
}

func (q *queue) put(at time.Duration, do func()) {
	q.seq++
	q.heap = append(q.heap, event{at, q.seq, do})
	for i := len(q.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !q.heap[i].before(q.heap[up]) {
			return
		}
		q.heap[i], q.heap[up] = q.heap[up], q.heap[i]
		i = up
	}
}

// take removes the next event due by a time.
func (q *queue) take(by time.Duration) (at time.Duration, do func(), found bool) {
	if len(q.heap) == 0 || q.heap[0].at > by {
		return 0, nil, false
	}
	first := q.heap[0]
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap[last] = event{}
	q.heap = q.heap[:last]
	for i := 0; ; {
		down := 2*i + 1
		if down >= last {
			break
		}
		if down+1 < last && q.heap[down+1].before(q.heap[down]) {
			down++
		}
		if !q.heap[down].before(q.heap[i]) {
			break
		}
		q.heap[i], q.heap[down] = q.heap[down], q.heap[i]
		i = down
	}
	return first.at, first.do, true
}
