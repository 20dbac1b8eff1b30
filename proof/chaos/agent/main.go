//go:build linux

// Command agent is a grid member for the chaos proof. It differs from the snowgrid
// agent in one thing: its wall clock is wrong by as many milliseconds as a file
// says, so that the clock of one process can be stepped.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/security"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

func run() error {
	host := flag.String("host", "", "address to listen at")
	join := flag.String("join", "", "gossip addresses of the members")
	expect := flag.Int("expect", 1, "members that form the grid")
	dir := flag.String("dir", "", "data directory")
	shift := flag.String("shift", "", "file with the clock's error in milliseconds")
	losses := flag.String("losses", "", "file to write the partitions to that lost every copy")
	credentials := flag.String("security-dir", "", "directory with certificates and keys; empty: clear text")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	cfg := grid.Config{
		GossipAddr: *host + ":7946", RaftAddr: *host + ":7947", APIAddr: *host + ":7948",
		Join: strings.Split(*join, ","), Expect: *expect, DataDir: *dir,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Clock:  shiftedClock(*shift), Security: &security.Config{Dir: *credentials, Insecure: *credentials == ""},
	}
	member, err := grid.Start(ctx, cfg)
	if err != nil {
		return err
	}
	fmt.Println("serving")
	err = watchLosses(ctx, member, *losses)
	return errors.Join(err, member.Close())
}

// shiftedClock is the file that says how wrong the clock is.
type shiftedClock string

// Now returns the wrong time. A missing or half-written file is ignored: the test
// replaces the file as a whole.
func (c shiftedClock) Now() time.Time {
	text, err := os.ReadFile(string(c))
	if err != nil {
		return time.Now()
	}
	ms, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		panic("agent: the clock's error is not a number: " + string(text))
	}
	return time.Now().Add(time.Duration(ms) * time.Millisecond)
}
