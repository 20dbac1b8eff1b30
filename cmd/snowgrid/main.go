// Command snowgrid runs members of a grid and uses one from the command line.
//
//	snowgrid demo                        run three members on this machine and kill one of them
//	snowgrid agent --expect 1            run one member until it is signalled
//	snowgrid next orders -n 10           print new IDs of a running grid, one per line
//	snowgrid status                      show the state of a grid
//	snowgrid --help                      list all commands by task
//
// The exit status is 0 on success, 1 if the operation failed or was refused, 2 for an invalid command
// line or configuration, 3 if a read-only command reaches no member, and 4 if status --check or verify
// finds a problem or what wait waits for is not reached. Errors are one line on stderr. Each command has
// examples in its --help.
package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/snowgrid/snowgrid/cmd/snowgrid/internal/configfile"
	"github.com/snowgrid/snowgrid/internal/ending"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/foreign"
	"github.com/snowgrid/snowgrid/internal/kongdocs"
	"github.com/snowgrid/snowgrid/internal/logqueue"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

const description = `Unique, time-ordered 64-bit IDs from a grid of processes.

See it work on this machine:

    snowgrid demo

Start a grid of one member, in a directory that outlives it, and take IDs from it:

    snowgrid agent --expect 1 --data-dir ./data
    snowgrid next orders -n 10

` + exitText

// helpTexts has the part of commands' --help between the usage and the flags.
//
//go:embed help
var helpTexts embed.FS

type commands struct {
	Next    nextCommand    `cmd:"" group:"use" help:"Print new IDs, one per line."`
	Decode  decodeCommand  `cmd:"" group:"use" help:"Decode an ID into time, logical node and counter."`
	SQL     sqlCommand     `cmd:"" group:"use" name:"sql" help:"Print SQL functions for the parts and time ranges of IDs."`
	Verify  verifyCommand  `cmd:"" group:"use" help:"Check existing IDs of any generator."`
	Migrate migrateCommand `cmd:"" group:"use" help:"Plan the move from another generator to a sequencer."`
	Number  numberCommand  `cmd:"" group:"use" help:"Print a small number that a data directory keeps."`

	Demo  demoCommand  `cmd:"" group:"run" help:"Run a grid of three members in this process and kill one of them."`
	Agent agentCommand `cmd:"" group:"run" help:"Run one member of a grid."`
	Alive aliveCommand `cmd:"" group:"run" help:"Ask one member whether it is alive, as the health check of a container."`
	Wait  waitCommand  `cmd:"" group:"run" help:"Wait until members are ready or their grid is settled."`

	Status     statusCommand      `cmd:"" group:"look" help:"Show the state of a grid."`
	Members    membersCommands    `cmd:"" group:"look" help:"List the members of a grid, and take members out."`
	Sequencers sequencersCommands `cmd:"" group:"look" help:"List the sequencers of a grid, and remove unused ones."`
	Holders    holdersCommand     `cmd:"" group:"look" help:"List the holders of a sequencer, with their labels."`
	Top        topCommand         `cmd:"" group:"look" help:"Show the busiest sequencers, refreshed every few seconds."`
	Debug      debugCommands      `cmd:"" group:"look" help:"Collect the state of a grid in trouble in one file."`

	Settings settingsCommand `cmd:"" group:"change" help:"Show or change the settings that the members have agreed on."`
	Quota    quotaCommands   `cmd:"" group:"change" help:"List, set and remove the limits of holders."`
	Identity identityCommand `cmd:"" group:"change" help:"List, remove and restore the persistent numbers of processes."`
	Keyring  keyringCommands `cmd:"" group:"change" help:"List and change the keys that encrypt the gossip."`
	Destroy  destroyCommand  `cmd:"" group:"change" help:"Destroy a sequencer for all holders, permanently."`

	Forget  forgetCommand     `cmd:"" group:"repair" help:"Forget the disk of a member that is gone for good."`
	Take    takeAnchorCommand `cmd:"" group:"repair" name:"take-anchor" help:"Have a grid take its anchor from any other grid."`
	Init    initCommand       `cmd:"" group:"repair" help:"Form a grid from survivors that lost their majority."`
	Recover recoverCommand    `cmd:"" group:"repair" help:"Form a grid from the data directories that are left."`

	Export exportCommand `cmd:"" group:"repair" help:"Write definitions, numbers, settings and quotas into one file."`
	Import importCommand `cmd:"" group:"repair" help:"Restore a file of snowgrid export in a new grid."`

	Secure     secureCommand       `cmd:"" group:"set up" help:"Make certificates, keys and tokens for a grid."`
	Config     configCommand       `cmd:"" group:"set up" help:"Check, print and explain the configuration."`
	Context    contextCommands     `cmd:"" group:"set up" help:"Save the addresses and certificates of grids under names."`
	Completion kongdocs.Completion `cmd:"" group:"set up" help:"Print the completion script of a shell."`
	Man        kongdocs.Man        `cmd:"" group:"set up" help:"Print the manual page of a command, or write all."`
	Version    versionCommand      `cmd:"" group:"set up" help:"Print the version of this program."`

	Complete kongdocs.Complete `cmd:"" name:"__complete" hidden:"" group:"set up"`

	ShowVersion versionFlag `name:"version" help:"Print the version of this program."`
}

// helpGroups are the titles of the groups in --help. The flags of every command that uses a grid come last.
var helpGroups = []kong.Group{
	{Key: "use", Title: "Take IDs:"},
	{Key: "run", Title: "Run members:"},
	{Key: "look", Title: "Watch a grid:"},
	{Key: "change", Title: "Change a grid:"},
	{Key: "repair", Title: "Repair a grid:"},
	{Key: "set up", Title: "Set up:"},
	{Key: "grid", Title: "Flags of all commands that use a grid:"},
}

// arguments holds the command line, to parse it again.
type arguments []string

// streams are the outputs of a command, its result and its errors and log, and its input,
// nil for none.
type streams struct {
	out, err io.Writer
	in       io.Reader
}

// lastLines bounds the wait at the end of an agent for its last lines.
const lastLines = time.Second

func main() {
	// With SIGPIPE ignored, a reader that closes the pipe (head) causes a write
	// error, and the logical node is released as after any other end.
	signal.Ignore(syscall.SIGPIPE)
	os.Exit(run(ending.Context(), os.Args[1:], streams{out: os.Stdout, err: os.Stderr, in: os.Stdin}))
}

// run parses the arguments, runs the command and returns the exit status.
func run(ctx context.Context, args []string, to streams) int {
	if len(args) > 0 && args[0] == "agent" { // no pipe that is not read may hold it
		to.out, to.err = logqueue.Writer(to.out), logqueue.Writer(to.err)
		defer logqueue.Flush(to.out, lastLines)
		defer logqueue.Flush(to.err, lastLines)
	}
	if len(args) > 0 && args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help")
	}
	exited := -1 // set by kong after it has printed --help
	from := newSources()
	parser, err := newParser(grammar(args), from,
		kong.Bind(arguments(args)),
		kong.Description(description),
		kong.Writers(to.out, to.err),
		kong.Exit(func(status int) { exited = status }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 80}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(to, kongdocs.Program{Exit: exitText, Values: contextValues}),
	)
	if err != nil {
		fmt.Fprintf(to.err, "snowgrid: %v\n", err)
		return exitFailed
	}
	command, err := parser.Parse(joinNegatives(args))
	switch {
	case exited >= 0, readerGone(err): // --help was printed
		return max(exited, exitDone)
	case err != nil && isSettingError(err):
		printSettingErrors(to.err, err)
		return exitUsage
	case err != nil:
		fmt.Fprintf(to.err, "snowgrid: %v\nRun snowgrid --help for the commands, snowgrid COMMAND --help for the flags.\n",
			commandError(err))
		return exitUsage
	}
	err = command.Run()
	if fault := (*configfile.Error)(nil); errors.As(err, &fault) && !fault.IsPlaced() {
		err = from.place(err)
	}
	switch {
	case err == nil, readerGone(err):
		return exitDone
	case isSettingError(err):
		printSettingErrors(to.err, err)
	default:
		fmt.Fprintf(to.err, "snowgrid: %s\n", sentence(err))
	}
	return exitStatusOf(err)
}

// negative matches a value that begins like a flag.
var negative = regexp.MustCompile(`^-[0-9.]`)

// joinNegatives writes --flag -1s as --flag=-1s, and -n -1 as -n-1, so that the flag's own check names its limit.
func joinNegatives(args []string) (out []string) {
	for i, arg := range args {
		if arg == "--" {
			return append(out, args[i:]...)
		}
		last := len(out) - 1
		switch {
		case last < 0 || !negative.MatchString(arg):
			out = append(out, arg)
		case strings.HasPrefix(out[last], "--") && !strings.Contains(out[last], "="):
			out[last] += "=" + arg
		case len(out[last]) == 2 && out[last][0] == '-':
			out[last] += arg
		default:
			out = append(out, arg)
		}
	}
	return out
}

// commandError returns the error of a command line. Below a command that has others, an unknown word is an
// unknown command.
func commandError(err error) error {
	var parse *kong.ParseError
	if !errors.As(err, &parse) || parse.Context == nil || parse.Context.Selected() == nil {
		return kongdocs.ValueError(err)
	}
	if err := refuseNegative(kongdocs.NegativeArgument(err)); err != nil {
		return err
	}
	word, unexpected := strings.CutPrefix(err.Error(), "unexpected argument ")
	group := parse.Context.Selected()
	if byDefault := group.Parent; byDefault.DefaultCmd == group && !slices.Contains(parse.Context.Args, group.Name) {
		group = byDefault
	}
	if !unexpected || group.Parent == nil || len(group.Children) == 0 {
		return kongdocs.ValueError(err)
	}
	word, _, _ = strings.Cut(word, ",")
	known := kongdocs.CommandsOf(group)
	return fmt.Errorf("%s has no command %.80q; %s", group.Name, word, suggest(word, known, "it has "+orList(known)))
}

// refuseNegative returns an error if a negative number takes the place that an ID or a process's number has.
func refuseNegative(word string, arg *kong.Positional) (err error) {
	switch {
	case arg == nil:
	case arg.Name == "id":
		_, err = sequencer.Parse(word)
	case arg.Name == "number":
		_, err = parseNumber(word)
	}
	if err != nil {
		return errors.New(sentence(err))
	}
	return nil
}

// printSettingErrors writes each error about the configuration on a line of its own.
func printSettingErrors(w io.Writer, err error) {
	for _, err := range eachOf(err) {
		fmt.Fprintf(w, "snowgrid: %s\n", settingText(err))
	}
}

// newParser returns a command line parser with flags that also take values from the environment and a
// configuration file.
func newParser(into any, from *sources, options ...kong.Option) (*kong.Kong, error) {
	parser, err := kong.New(into, append(options, kong.Name("snowgrid"), kong.ExplicitGroups(helpGroups),
		kong.Resolvers(from), kong.Bind(from), kong.Vars{
			"generators": strings.Join(foreign.Names(), ","), "generatornames": strings.Join(foreign.Names(), ", "),
		})...)
	if err == nil {
		kongdocs.Describe(parser.Model.Node, helpTexts)
	}
	return parser, err
}

// packagePrefix matches the prefix of an error from a package that this program calls.
// The program's name replaces it.
var packagePrefix = regexp.MustCompile(`(?m)^(grid|client|sequencer|sqlfunctions|wire|security(: invalid)?): `)

// sentence returns an error's text as one line, without the prefix of a package.
func sentence(err error) string {
	return strings.ReplaceAll(packagePrefix.ReplaceAllString(err.Error(), ""), "\n", "; ")
}

// refusal converts a member's error reply to an error that matches its sentinel.
func refusal(answer wire.Error) error {
	err := answer.Unwire()
	return failure.Errorf(err, "%s", sentence(err))
}

// readerGone reports whether err results from a closed output pipe, as head closes it. A
// broken connection to a member returns the same errno and does not count.
func readerGone(err error) bool {
	var connection *net.OpError
	return errors.Is(err, syscall.EPIPE) && !errors.As(err, &connection)
}
