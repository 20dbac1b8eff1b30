package main

import (
	"context"
	"time"
)

// Attempts of a store that does not answer at the start.
const (
	tryWait  = 5 * time.Second // for one attempt
	tryApart = 200 * time.Millisecond
)

// untilAnswered calls a store until it answers or ctx ends, and returns its last error. An error for which starting
// is false ends it. Each other error is passed on, so that callers and the log have the cause meanwhile.
func untilAnswered(ctx context.Context, failing func(error), starting func(error) bool,
	call func(context.Context) error) error {
	for {
		try, cancel := context.WithTimeout(ctx, tryWait)
		err := call(try)
		late := try.Err() != nil
		cancel()
		if err == nil || !late && !starting(err) {
			return err
		}
		failing(err)
		select {
		case <-time.After(tryApart):
		case <-ctx.Done():
			return err
		}
	}
}
