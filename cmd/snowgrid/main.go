// Command snowgrid runs members of a grid and uses one from the command line.
//
//	snowgrid demo      three members on this machine, and what happens when one dies
//	snowgrid agent     one member, until it is told to stop
//	snowgrid next      IDs from a running grid, one a line
//	snowgrid decode    an ID taken apart; needs no grid
//	snowgrid status    what a grid knows about itself
//	snowgrid destroy   the end of a sequencer
//	snowgrid forget    the disk of a member that is gone for good
//	snowgrid init      a grid formed anew that lost its majority, and kept nothing on disk
//	snowgrid recover   a grid made of the data directories that are left of another
//
// It exits with 0 when it did what it was asked, with 1 when it could not, and
// with 2 when it did not understand the question. Every command explains itself
// with --help.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/wire"
)

// The exit statuses.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

const description = `Unique, time-ordered 64-bit IDs from a grid of processes.

See it work on this machine:

    snowgrid demo

Start a grid of one member, in a directory that outlives it, and take IDs from it:

    snowgrid agent --expect 1 --data-dir ./data
    snowgrid next orders -n 10`

// commands is the command line as kong reads it.
type commands struct {
	Demo    demoCommand    `cmd:"" help:"Run a grid of three members in this process, and lose one of them."`
	Agent   agentCommand   `cmd:"" help:"Run one member of a grid."`
	Next    nextCommand    `cmd:"" help:"Print new IDs, one a line."`
	Decode  decodeCommand  `cmd:"" help:"Take an ID apart."`
	Status  statusCommand  `cmd:"" help:"Show what a grid knows about itself."`
	Destroy destroyCommand `cmd:"" help:"Destroy a sequencer, for every holder and for good."`
	Forget  forgetCommand  `cmd:"" help:"Give up the disk of a member that is gone for good."`
	Init    initCommand    `cmd:"" help:"Form a grid anew that kept nothing on disk and lost its majority."`
	Recover recoverCommand `cmd:"" help:"Make a grid of the data directories that are left of one that lost its majority for good."`
}

// streams are where a command writes: what was asked for, and everything else.
type streams struct {
	out, err io.Writer
}

func main() {
	// With SIGPIPE ignored, a reader that has seen enough (head) is an error of
	// the write, and the logical node is given back as after any other end.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// From the first signal on they have their usual effect again, so that the
	// second one ends the process at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], streams{out: os.Stdout, err: os.Stderr}))
}

// run is the whole program but for the process around it. It returns the exit
// status.
func run(ctx context.Context, args []string, to streams) int {
	exited := -1 // kong's way of saying that --help was all there was to do
	parser, err := kong.New(&commands{},
		kong.Name("snowgrid"),
		kong.Description(description),
		kong.Writers(to.out, to.err),
		kong.Exit(func(status int) { exited = status }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(to),
	)
	if err != nil {
		fmt.Fprintf(to.err, "snowgrid: %v\n", err)
		return exitFailed
	}
	command, err := parser.Parse(args)
	switch {
	case exited >= 0:
		return exited
	case err != nil:
		fmt.Fprintf(to.err, "snowgrid: %v\nsnowgrid --help explains the commands, snowgrid COMMAND --help its flags.\n", err)
		return exitUsage
	}
	if err := command.Run(); err != nil && !readerGone(err) {
		fmt.Fprintf(to.err, "snowgrid: %s\n", sentence(err))
		return exitFailed
	}
	return exitDone
}

// packagePrefix begins the errors of the packages that this program calls. Its own name
// stands there instead.
var packagePrefix = regexp.MustCompile(`(?m)^(grid|client|sequencer|wire): `)

// sentence returns an error's text as one line, without the prefix of a package.
func sentence(err error) string {
	return strings.ReplaceAll(packagePrefix.ReplaceAllString(err.Error(), ""), "\n", "; ")
}

// refusal returns the error that a member answered: its sentence, matching its kind.
func refusal(answer wire.Error) error {
	err := answer.Unwire()
	return failure.Errorf(err, "%s", sentence(err))
}

// readerGone reports whether an error is that nothing reads the output any longer,
// which has seen enough, as head does. A connection to a member can end in the same way.
func readerGone(err error) bool {
	var connection *net.OpError
	return errors.Is(err, syscall.EPIPE) && !errors.As(err, &connection)
}
