// Command snowgrid-serve issues IDs over HTTP and gRPC from an existing store: etcd, an S3 bucket,
// a SQL database, or a directory. It is a sidecar for services in any language; no grid is needed.
//
//	snowgrid-serve serve        give out IDs until it is signalled
//	snowgrid-serve status       print the sequencers of a store and their records
//	snowgrid-serve scale        change the number of logical nodes in use
//	snowgrid-serve retire       take one logical node out of use
//	snowgrid-serve repair       replace a missing or damaged record
//	snowgrid-serve completion   print the completion script of a shell
//	snowgrid-serve man          print a manual page
//	snowgrid-serve version      print the version
//
// The exit status is 0 on success, 1 when the operation failed or was refused, and 2 for an invalid
// command line or configuration file.
package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/snowgrid/snowgrid/internal/buildinfo"
	"github.com/snowgrid/snowgrid/internal/ending"
	"github.com/snowgrid/snowgrid/internal/kongdocs"
	"github.com/snowgrid/snowgrid/internal/logqueue"
)

const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

const description = `Unique, time-ordered 64-bit IDs over HTTP and gRPC, from a store that you run already.

On this machine, with the records in a directory:

    snowgrid-serve serve --store file:./ids
    curl http://127.0.0.1:8001/v1/ids --json '{"name":"orders","create":{}}'

Stores:

    file:DIR                           a directory on a local disk
    etcd://HOST:2379,HOST:2379/PREFIX  ?tls=true, ?ca=FILE
    s3://BUCKET/PREFIX                 ?region=, ?endpoint=, ?path_style=true
    postgres://USER:PASSWORD@HOST/DB   ?table=, and the driver's parameters
    mysql://USER:PASSWORD@HOST:3306/DB ?table=, and the driver's parameters
    sqlite:FILE                        ?table=

Every flag of serve is an environment variable, and a key of the JSON file of --config, for the other
commands too: --s3-bucket-name is SNOWGRID_S3_BUCKET_NAME, and s3.bucketName in the file. A flag has
precedence over a variable, and a variable over the file.

` + exitText

// exitText is the part of --help about exit statuses.
const exitText = "Exit status: 0 done; 1 the operation failed or was refused; 2 the command line or the " +
	"configuration file is invalid."

// helpTexts has the part of commands' --help between the usage and the flags.
//
//go:embed help
var helpTexts embed.FS

type commands struct {
	Config string `help:"JSON file with flags, such as {\"s3\":{\"bucketName\":\"ids\"}} or {\"etcd_endpoints\":[\"10.0.0.1:2379\"]}." env:"SNOWGRID_CONFIG" placeholder:"FILE"`

	Serve  serveCommand  `cmd:"" help:"Give out IDs over HTTP and gRPC until SIGTERM or Ctrl-C."`
	Status statusCommand `cmd:"" help:"Print the sequencers of a store, and their records as a table."`
	Scale  scaleCommand  `cmd:"" help:"Change the number of logical nodes in use, and so of processes at the same time."`
	Retire retireCommand `cmd:"" help:"Take one logical node out of use; its holder takes another one."`
	Repair repairCommand `cmd:"" help:"Replace the missing or damaged record of one logical node."`

	Completion kongdocs.Completion `cmd:"" help:"Print the completion script of a shell."`
	Man        kongdocs.Man        `cmd:"" help:"Print the manual page of a command, or write all."`
	Version    versionCommand      `cmd:"" help:"Print the version of this program."`

	Complete kongdocs.Complete `cmd:"" name:"__complete" hidden:""`
}

type versionCommand struct{}

func (versionCommand) Run(to streams) error {
	b := buildinfo.Read()
	_, err := fmt.Fprintf(to.out, "version  %s\ngo       %s\n", b.Version, b.Go)
	return err
}

// streams are a command's outputs: its result, and its errors and log.
type streams struct {
	out, err io.Writer
}

// lastLines bounds the wait for the last lines of stdout and stderr.
const lastLines = time.Second

func main() {
	os.Exit(run(ending.Context(), os.Args[1:], streams{out: os.Stdout, err: os.Stderr}))
}

// run parses the arguments, runs the command and returns the exit status.
func run(ctx context.Context, args []string, to streams) int {
	if slices.Contains(args, "serve") { // no pipe that is not read may hold it, or end it before it returns its nodes
		signal.Ignore(syscall.SIGPIPE)
		to.out, to.err = logqueue.Writer(to.out), logqueue.Writer(to.err)
		defer logqueue.Flush(to.out, lastLines)
		defer logqueue.Flush(to.err, lastLines)
	}
	exited := -1 // set by kong after it has printed --help
	parser, err := kong.New(&commands{},
		kong.Name("snowgrid-serve"),
		kong.Description(description),
		kong.Writers(to.out, to.err),
		kong.Exit(func(status int) { exited = status }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 80}),
		kong.Resolvers(&configFile{}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(to, kongdocs.Program{Exit: exitText}),
	)
	if err != nil {
		fmt.Fprintf(to.err, "snowgrid-serve: %v\n", err)
		return exitFailed
	}
	kongdocs.Describe(parser.Model.Node, helpTexts)
	var file *configError
	command, err := parser.Parse(args)
	switch {
	case exited >= 0:
		return exited
	case errors.As(err, &file): // without the flag at which kong read it
		fmt.Fprintf(to.err, "snowgrid-serve: %v\n", file)
		return exitUsage
	case err != nil:
		fmt.Fprintf(to.err,
			"snowgrid-serve: %v\nRun snowgrid-serve --help for the commands, snowgrid-serve COMMAND --help for the flags.\n",
			kongdocs.ValueError(err))
		return exitUsage
	}
	if err := command.Run(); err != nil {
		fmt.Fprintf(to.err, "snowgrid-serve: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
		if _, is := errors.AsType[*usageError](err); is {
			return exitUsage
		}
		return exitFailed
	}
	return exitDone
}

// usageError is an error about an argument of the command line or a value of the file.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// usage gives an error about an argument its exit status.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &usageError{err}
}

func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }
