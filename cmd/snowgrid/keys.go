package main

import (
	"encoding"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/snowgrid/snowgrid/cmd/snowgrid/internal/configfile"
	"github.com/snowgrid/snowgrid/internal/kongdocs"
)

// key is a configuration key: the flag --name, the variable SNOWGRID_NAME and the key in the file.
type key struct {
	name   string
	flag   *kong.Flag
	secret bool // its value is not printed
	client bool // for commands that use a grid, not for the agent
}

const envPrefix = "SNOWGRID_"

func (k key) variable() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(k.name, "-", "_"))
}

// keysOf returns the configuration keys in field order: the flags of snowgrid config print, which has
// the agent's keys and the keys that locate the grid.
func keysOf(app *kong.Application) []key {
	config := kongdocs.Child(app.Node, "config")
	agent := kongdocs.Child(app.Node, "agent")
	if config == nil || agent == nil {
		return nil
	}
	var out []key
	for _, flag := range kongdocs.Child(config, "print").Flags {
		if len(flag.Envs) == 0 || flag.Target.Type() == reflect.TypeFor[configPath]() {
			continue // --help, --output, --config
		}
		out = append(out, key{
			name: flag.Name, flag: flag, secret: flag.Tag.Has("secret"),
			client: !slices.ContainsFunc(agent.Flags, func(f *kong.Flag) bool { return f.Name == flag.Name }),
		})
	}
	return out
}

// suggest returns a sentence about all known names, after a question about the nearest, if any is near.
func suggest(name string, known []string, all string) string {
	near := nearest(name, known)
	if near == "" {
		return all
	}
	return "did you mean " + near + "? " + strings.ToUpper(all[:1]) + all[1:]
}

// nearest returns the known name closest to name, "" if each differs in more than a third of its letters.
func nearest(name string, known []string) string {
	name = strings.ToLower(strings.ReplaceAll(keyOfField(name), "_", "-"))
	name = strings.Trim(strings.TrimPrefix(name, "snowgrid-"), "-")
	near := slices.MinFunc(known, func(a, b string) int { return distance(name, a) - distance(name, b) })
	if distance(name, near) > max(2, len(name)/3) {
		return ""
	}
	return near
}

// distance returns the Levenshtein distance between two texts, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			above := row[j+1]
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			row[j+1], diagonal = min(above+1, row[j]+1, cost), above
		}
	}
	return row[len(b)]
}

// decode parses a value without using it. The problem lists the accepted values; it is "" for a valid
// one.
func (k key) decode(text string) (problem string) {
	target := reflect.New(k.flag.Target.Type()).Elem()
	if err := k.flag.Parse(kong.Scan().PushTyped(text, kong.FlagValueToken), target); err != nil {
		return k.wants(err)
	}
	if enum := k.flag.EnumSlice(); k.flag.Enum != "" && !slices.Contains(enum, text) {
		return "give " + orList(enum)
	}
	return limitOf(target.Interface(), k.name)
}

// limitOf returns the limit and the remedy for a value that no command and no agent accepts, "" for
// any other.
func limitOf(value any, name string) (problem string) {
	var err error
	switch value := value.(type) {
	case time.Duration:
		if name == "timeout" || name == "leave-timeout" {
			err = checkTimeout(name, value)
		}
	case []string:
		if name == "addr" {
			err = checkAddrs(value...)
		}
	case string:
		if name == "role" {
			err = checkRole(value)
		}
	}
	if fault, is := errors.AsType[*configfile.Error](err); is {
		return fault.Problem
	}
	return ""
}

// wants describes the accepted values after a parse error.
func (k key) wants(err error) string {
	switch t := k.flag.Target.Type(); {
	case k.flag.Enum != "":
		return "give " + orList(k.flag.EnumSlice())
	case k.kind() == "duration":
		return "give a duration with its unit, such as 15s or 2m"
	case k.kind() == "number":
		return "give a whole number"
	case k.kind() == "level":
		return "give debug, info, warn or error"
	case t.Kind() == reflect.Bool:
		return "give true or false"
	}
	for inner := err; inner != nil; { // without kong's prefix, the flag's name
		text := sentence(inner)
		if !strings.HasPrefix(text, "--") {
			return text
		}
		next, wraps := inner.(interface{ Unwrap() error })
		if !wraps {
			return text
		}
		inner = next.Unwrap()
	}
	return "give another value"
}

func (k key) kind() string {
	t := k.flag.Target.Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.String() == "time.Duration":
		return "duration"
	case t.String() == "slog.Level":
		return "level"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64:
		return "number"
	case t.Kind() == reflect.Slice:
		return "list"
	case k.flag.Enum != "":
		return orList(k.flag.EnumSlice())
	}
	return "text"
}

// value returns the key's value after the command line was parsed, "" if it is not set.
func (k key) value(flag *kong.Flag) string {
	v := flag.Target
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	if v.IsZero() && !flag.HasDefault && flag.Target.Kind() != reflect.Pointer {
		return ""
	}
	switch value := v.Addr().Interface().(type) {
	case *slog.Level:
		return strings.ToLower(value.String())
	case *[]string:
		return strings.Join(*value, ",")
	case encoding.TextMarshaler:
		text, err := value.MarshalText()
		if err == nil {
			return string(text)
		}
	case fmt.Stringer:
		return value.String()
	}
	return fmt.Sprint(v.Interface())
}

// orList returns words as a list with or: a, b or c.
func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
