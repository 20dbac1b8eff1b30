package main

import "time"

// size is how much is measured.
type size struct {
	batches  int           // of calls, for each generator's cost
	rounds   int           // in which all take a turn, for each rate and latency
	window   time.Duration // how long a turn is
	paced    int           // IDs at a steady pace, to see how old they are
	sparse   int           // IDs some milliseconds apart
	bursts   int           // of IDs
	attaches int           // turns of attaching one after the other
	turn     int           // attaches in such a turn
}

var whole = size{
	batches: 300, rounds: 5, window: 300 * time.Millisecond,
	paced: 100_000, sparse: 300, bursts: 15,
	attaches: 40, turn: 50,
}

var small = size{
	batches: 30, rounds: 2, window: 40 * time.Millisecond,
	paced: 10_000, sparse: 30, bursts: 3,
	attaches: 4, turn: 20,
}
