package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"

	"github.com/snowgrid/snowgrid/internal/durable"
)

// contextName is the type of the flag that selects a context.
type contextName string

// contextFlag selects a context: a file with the flags that locate one grid and prove the caller's
// identity.
type contextFlag struct {
	Context contextName `help:"Context to use; see snowgrid context. Default: the current one, if no address and no configuration file is given." env:"SNOWGRID_CONTEXT" placeholder:"NAME"`
}

type contextCommands struct {
	Add    contextAddCommand    `cmd:"" help:"Save addresses and certificates of a grid under a name."`
	Use    contextUseCommand    `cmd:"" help:"Choose the context of commands that name no grid."`
	List   contextListCommand   `cmd:"" default:"1" help:"List the contexts."`
	Remove contextRemoveCommand `cmd:"" help:"Remove a context."`
}

type contextAddCommand struct {
	Name    string `arg:"" help:"Name of the context."`
	Replace bool   `help:"Replace a context with this name."`
	clientFlags
	accessFlags
}

type contextUseCommand struct {
	Name contextName `arg:"" optional:"" help:"Name of the context. Default: none, so commands use no context."`
}

type contextListCommand struct{ outputFlag }

type contextRemoveCommand struct {
	Name contextName `arg:"" help:"Name of the context."`
}

// contexts is a user's directory with contexts.
type contexts string

// contextValues returns the contexts for a flag or argument that names one.
func contextValues(value *kong.Value) []string {
	if value.Target.Type() != reflect.TypeFor[contextName]() {
		return nil
	}
	dir, err := openContexts()
	if err != nil {
		return nil
	}
	names, _ := dir.names()
	return names
}

var contextNames = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

const (
	contextSuffix  = ".yaml"
	currentContext = "current" // the file with the name that snowgrid context use chose
)

// openContexts returns this user's directory, which may not exist.
func openContexts() (contexts, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("contexts need a configuration directory: %w", err)
	}
	return contexts(filepath.Join(dir, "snowgrid", "contexts")), nil
}

func (c contexts) path(name string) (string, error) {
	if !contextNames.MatchString(name) {
		return "", usage(fmt.Errorf("invalid context name %.80q; use up to 63 letters, digits, dots, hyphens "+
			"and underscores, first a letter or digit", name))
	}
	return filepath.Join(string(c), name+contextSuffix), nil
}

// existing returns an existing context's file.
func (c contexts) existing(name string) (string, error) {
	path, err := c.path(name)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		known := "none is saved yet; see snowgrid context add --help"
		if all, err := c.names(); err == nil && len(all) > 0 {
			known = "these are saved: " + strings.Join(all, ", ")
		}
		return "", usage(fmt.Errorf("there is no context %q; %s", name, known))
	}
	return path, nil
}

func (c contexts) names() (all []string, err error) {
	entries, err := os.ReadDir(string(c))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if name, is := strings.CutSuffix(e.Name(), contextSuffix); is && contextNames.MatchString(name) {
			all = append(all, name)
		}
	}
	return all, nil
}

// current returns the name that snowgrid context use chose, "" for none.
func (c contexts) current() (string, error) {
	text, err := os.ReadFile(filepath.Join(string(c), currentContext))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

// choose makes a context the current one, or with "" none.
func (c contexts) choose(name string) error {
	path := filepath.Join(string(c), currentContext)
	if name == "" {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return durable.Replace(path, []byte(name+"\n"), nil)
}

func (c *contextAddCommand) Run(ctx *kong.Context, s *sources, to streams) error {
	all, err := openContexts()
	if err != nil {
		return err
	}
	path, err := all.path(c.Name)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err == nil && !c.Replace {
		return fmt.Errorf("there is a context %q; give --replace to replace it", c.Name)
	}
	if err := errors.Join(checkAddrs(c.Addr...), c.check(s)); err != nil {
		return err
	}
	text, err := yaml.Marshal(c.values(ctx, s))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(string(all), 0o700); err != nil {
		return err
	}
	if err := durable.Replace(path, text, nil); err != nil {
		return err
	}
	_, err = fmt.Fprintf(to.out, "saved context %s in %s; use it with --context %s, or snowgrid context use %s\n", c.Name,
		path, c.Name, c.Name)
	return err
}

// check refuses a secret on the command line, which a context does not store, and credentials that cannot be
// used.
func (c *contextAddCommand) check(s *sources) error {
	if c.Token != "" && s.origins["token"].source == fromFlag {
		return badValue("token", "", "a context stores no secret; set SNOWGRID_TOKEN_FILE where commands run")
	}
	_, err := c.security()
	return err
}

// values returns the flags that were set, for the file. Paths are absolute: commands run anywhere.
func (c *contextAddCommand) values(ctx *kong.Context, s *sources) map[string]any {
	values := map[string]any{"addr": c.Addr}
	for _, flag := range ctx.Selected().Flags {
		k, known := s.key(flag.Name)
		from, isSet := s.origins[flag.Name]
		if !known || !isSet || from.source == fromDefault || flag.Name == "addr" || k.secret {
			continue
		}
		text := k.value(flag)
		if flag.PlaceHolder == "DIR" || flag.PlaceHolder == "FILE" {
			if absolute, err := filepath.Abs(text); err == nil {
				text = absolute
			}
		}
		values[flag.Name] = text
	}
	return values
}

func (c *contextUseCommand) Run(to streams) error {
	all, err := openContexts()
	if err != nil {
		return err
	}
	if c.Name != "" {
		if _, err := all.existing(string(c.Name)); err != nil {
			return err
		}
	}
	if err := all.choose(string(c.Name)); err != nil {
		return err
	}
	if c.Name == "" {
		_, err = fmt.Fprintln(to.out, "commands use no context")
	} else {
		_, err = fmt.Fprintf(to.out, "commands that name no grid use context %s\n", c.Name)
	}
	return err
}

type contextRow struct {
	Name        string   `json:"name"`
	Current     bool     `json:"current"`
	Addr        []string `json:"addr"`
	SecurityDir string   `json:"security_dir,omitempty"`
	File        string   `json:"file"`
	Error       string   `json:"error,omitempty"` // why commands refuse it
}

func (c *contextListCommand) Run(s *sources, to streams) error {
	all, err := openContexts()
	if err != nil {
		return err
	}
	names, err := all.names()
	if err != nil {
		return err
	}
	current, err := all.current()
	if err != nil {
		return err
	}
	rows := []contextRow{}
	for _, name := range names {
		row := contextRow{Name: name, Current: name == current, File: filepath.Join(string(all), name+contextSuffix)}
		if set, err := s.readContext(row.File); err != nil {
			row.Error = sentence(err)
		} else {
			row.Addr, row.SecurityDir = strings.Split(set["addr"].text, ","), set["security-dir"].text
		}
		rows = append(rows, row)
	}
	return c.result(to.out, rows, func(w io.Writer) { printContexts(w, rows) })
}

func printContexts(w io.Writer, rows []contextRow) {
	if len(rows) == 0 {
		fmt.Fprintln(w, "no contexts; save one with snowgrid context add")
		return
	}
	fmt.Fprint(w, "CURRENT\tNAME\tADDRESSES\tSECURITY\n")
	for _, r := range rows {
		mark, security := "", orNone(r.SecurityDir)
		if r.Current {
			mark = "*"
		}
		if r.Error != "" {
			security = "refused: " + r.Error
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", mark, r.Name, orNone(strings.Join(r.Addr, ",")), security)
	}
}

func (c *contextRemoveCommand) Run(to streams) error {
	all, err := openContexts()
	if err != nil {
		return err
	}
	path, err := all.existing(string(c.Name))
	if err != nil {
		return err
	}
	if current, err := all.current(); err != nil {
		return err
	} else if current == string(c.Name) {
		if err := all.choose(""); err != nil {
			return err
		}
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	_, err = fmt.Fprintf(to.out, "removed context %s\n", c.Name)
	return err
}
