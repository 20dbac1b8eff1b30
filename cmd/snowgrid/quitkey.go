package main

import (
	"context"
	"io"
	"os"
)

// untilQuit returns a context that ends when q is typed on the terminal; done releases the
// terminal. Without a terminal it ends with ctx.
func untilQuit(ctx context.Context, in io.Reader) (quitting context.Context, done func()) {
	file, _ := in.(*os.File)
	if !isTerminal(in) {
		return ctx, func() {}
	}
	restore := readKeys(file)
	quitting, cancel := context.WithCancel(ctx)
	go func() { // it ends with the process: a read of a terminal cannot be interrupted
		awaitQuit(in)
		cancel()
	}()
	return quitting, func() {
		cancel()
		restore()
	}
}

// awaitQuit returns when q is read, or nothing more.
func awaitQuit(in io.Reader) {
	for key := make([]byte, 1); ; {
		if _, err := in.Read(key); err != nil || key[0] == 'q' || key[0] == 'Q' {
			return
		}
	}
}
