package main

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/snowgrid/snowgrid/cmd/snowgrid/internal/configfile"
)

// source is the place where a value was set. Earlier ones have precedence.
type source string

const (
	fromFlag        source = "flag"
	fromEnvironment source = "environment"
	fromFile        source = "file"
	fromContext     source = "context"
	fromDefault     source = "default"
)

// origin is the place where a value was set.
type origin struct {
	source source
	name   string // the flag's, the variable's or the file's
	line   int    // in the file, from 1
	column int
}

// String returns the place in one word or two.
func (o origin) String() string {
	switch o.source {
	case fromFlag:
		return "--" + o.name
	case fromEnvironment:
		return "environment " + o.name
	case fromFile:
		return fmt.Sprintf("%s:%d", o.name, o.line)
	case fromContext:
		return "context " + o.name
	}
	return string(fromDefault)
}

// fault returns an error about a key's value that was set at this place.
func (o origin) fault(key, value string, secret bool, problem string) *configfile.Error {
	e := &configfile.Error{Key: key, Value: value, ValueIsHidden: secret, Problem: problem}
	switch o.source {
	case fromFile:
		e.Path, e.Line, e.Column = o.name, o.line, o.column
	case fromContext:
		e.Setter = o.String()
	case fromEnvironment:
		e.Setter = o.name
	default:
		e.Setter = "--" + key
	}
	return e
}

// configPath is the type of the arguments that name a configuration file.
type configPath string

type fileFlag struct {
	Config configPath `help:"Configuration file; see snowgrid config reference." env:"SNOWGRID_CONFIG" placeholder:"FILE"`
}

// agentConfigured is a command with the agent's flags, which takes all keys in the configuration file.
// Others take the keys that locate the grid and prove their identity.
type agentConfigured interface{ flagsOfAgent() *agentFlags }

func (a *agentFlags) flagsOfAgent() *agentFlags { return a }

// sources sets flags that the command line omits: from the environment, then from the configuration
// file, then from the context. It is a kong resolver; kong applies the defaults to the remaining flags.
type sources struct {
	loaded  bool
	keys    []key
	path    string                 // of the configuration file, "" for none
	file    map[string]settingLine // the file's values by key
	notes   []originalNote         // the file's keys without effect
	faults  error                  // in the file, if the command reports them itself
	context map[string]settingLine // the context's values by key

	contextName string // "" for none

	origins map[string]origin // this command's flags that were set
	text    map[string]string // their values, but for those on the command line
}

type settingLine struct {
	text         string
	line, column int
}

func newSources() *sources {
	return &sources{file: map[string]settingLine{}, origins: map[string]origin{}, text: map[string]string{}}
}

// origin returns the place where a key's value was set.
func (s *sources) origin(k key) origin {
	if from, found := s.origins[k.name]; found {
		return from
	}
	return origin{source: fromDefault, name: k.name}
}

func (s *sources) key(name string) (key, bool) {
	i := slices.IndexFunc(s.keys, func(k key) bool { return k.name == name })
	if i < 0 {
		return key{}, false
	}
	return s.keys[i], true
}

func (s *sources) Validate(*kong.Application) error { return nil }

// Resolve implements kong.Resolver: it returns the value of a flag that the command line
// does not set, nil for its default.
func (s *sources) Resolve(ctx *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if !s.loaded {
		s.loaded = true
		if err := s.load(ctx); err != nil {
			return nil, err
		}
	}
	text, from, err := s.lookup(ctx, flag)
	if err != nil || from.source == "" {
		return nil, err
	}
	k := key{name: flag.Name, flag: flag, secret: flag.Tag.Has("secret")}
	if problem := k.decode(text); problem != "" {
		return nil, from.fault(k.name, text, k.secret, problem)
	}
	s.origins[flag.Name], s.text[flag.Name] = from, text
	return text, nil
}

// lookup returns the value of a flag from the environment or the file, and the place;
// the zero origin for none.
func (s *sources) lookup(ctx *kong.Context, flag *kong.Flag) (string, origin, error) {
	for _, name := range flag.Envs {
		text, from, err := fromVariable(name, flag)
		if err != nil || from.source != "" {
			return text, from, err
		}
	}
	if set, found := s.file[flag.Name]; found && s.takesFile(ctx, flag) {
		return set.text, origin{fromFile, s.path, set.line, set.column}, nil
	}
	if set, found := s.context[flag.Name]; found && s.takesFile(ctx, flag) {
		return set.text, origin{fromContext, s.contextName, set.line, set.column}, nil
	}
	return "", origin{}, nil
}

// takesFile reports whether a flag of the command takes its value from the file.
func (s *sources) takesFile(ctx *kong.Context, flag *kong.Flag) bool {
	k, known := s.key(flag.Name)
	if !known || len(flag.Envs) == 0 || ctx.Selected() == nil {
		return false
	}
	_, isAgent := ctx.Selected().Target.Addr().Interface().(agentConfigured)
	if !isAgent && !slices.Contains(flag.Envs, k.variable()) {
		return false // another value with this name: the member probed by alive
	}
	return isAgent || k.client || k.flag.Tag.Has("shared")
}

// fromVariable returns an environment variable's value, or the content of the file named by the same
// variable with suffix _FILE.
func fromVariable(name string, flag *kong.Flag) (text string, from origin, err error) {
	text, isSet := os.LookupEnv(name)
	if isSet {
		from = origin{source: fromEnvironment, name: name}
	}
	path, isFile := os.LookupEnv(name + "_FILE")
	if !isFile {
		return text, from, nil
	}
	from = origin{source: fromEnvironment, name: name + "_FILE"}
	fault := func(problem string) error { return from.fault(flag.Name, path, false, problem) }
	switch {
	case flag.Target.Type() == reflect.TypeFor[configPath]():
		return "", from, fault(fmt.Sprintf("the variable for the configuration file's path is %s; set it instead",
			name))
	case isSet:
		return "", from, fault(fmt.Sprintf("%s is set as well; unset one of the two", name))
	}
	text, problem := readValue(path, flag.Tag.Has("secret"))
	if problem != "" {
		return "", from, fault(problem)
	}
	if flag.IsSlice() {
		text = strings.Join(strings.Fields(text), ",")
	}
	return text, from, nil
}

// valueSizeMax bounds a file with one value, in bytes.
const valueSizeMax = 64 << 10

// readValue returns the content of a file with one value, without the line break at its
// end, or a problem with its remedy.
func readValue(path string, secret bool) (text, problem string) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", cause(err) + "; give the path of a file with the value"
	case !info.Mode().IsRegular():
		return "", "this is not a regular file; give the path of a file with the value"
	case secret && configfile.IsWritable(info):
		return "", fmt.Sprintf("any user on this machine may change the file, and it holds a secret; run chmod o-w %s", path)
	}
	content, err := configfile.ReadAtMost(path, valueSizeMax+1)
	switch {
	case err != nil:
		return "", cause(err) + "; give the path of a file that this process can read"
	case len(content) > valueSizeMax:
		return "", fmt.Sprintf("the file has more than %d bytes; give the path of a file with one value", valueSizeMax)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r"), ""
}

// cause returns the text of a package os error without the path.
func cause(err error) string { return configfile.Cause(err).Error() }
