package main

import "time"

// size is the amount to measure.
type size struct {
	batches  int           // batches of calls, for each generator's cost
	rounds   int           // rounds of turns, for each rate and latency
	window   time.Duration // a turn's length
	paced    int           // IDs at a steady pace, for their age
	sparse   int           // IDs some milliseconds apart
	bursts   int           // bursts of IDs
	attaches int           // turns of attaching one after the other
	turn     int           // attaches in a turn
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
