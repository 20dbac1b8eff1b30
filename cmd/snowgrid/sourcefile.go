package main

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/snowgrid/snowgrid/cmd/snowgrid/internal/configfile"
	"github.com/snowgrid/snowgrid/internal/authority"
)

// load notes the flags on the command line, and reads and checks the configuration file of
// the command.
func (s *sources) load(ctx *kong.Context) error {
	s.keys = keysOf(ctx.Model)
	for _, path := range ctx.Path {
		if path.Flag != nil && !path.Resolved {
			s.origins[path.Flag.Name] = origin{source: fromFlag, name: path.Flag.Name}
		}
	}
	if s.path, _ = valueOf[configPath](ctx, true); s.path == "" {
		return s.loadContext(ctx)
	}
	file, err := configfile.Read(s.path)
	if file != nil {
		err = errors.Join(err, s.take(file))
	}
	if _, reports := ctx.Selected().Target.Addr().Interface().(*configCheckCommand); reports {
		s.faults, err = err, nil
	}
	return errors.Join(err, s.loadContext(ctx))
}

// valueOf returns the value of a command's flag of a type, or with arguments of such an argument, and whether the
// command takes one. The command line or the environment sets it.
func valueOf[T ~string](ctx *kong.Context, arguments bool) (value string, takes bool) {
	isOne := func(v *kong.Value) bool { return v != nil && v.Target.Type() == reflect.TypeFor[T]() }
	for _, path := range ctx.Path {
		if arguments && isOne(path.Positional) || path.Flag != nil && isOne(path.Flag.Value) {
			return ctx.Value(path).String(), true
		}
	}
	if ctx.Selected() == nil {
		return "", false
	}
	for _, flag := range ctx.Selected().Flags {
		if isOne(flag.Value) {
			return flag.Target.String(), true // from the environment
		}
	}
	return "", false
}

// take checks all entries in a file, also entries that the command does not use, and keeps them.
func (s *sources) take(file *configfile.File) error {
	original := map[string]string{}
	var faults []error
	for _, entry := range file.Entries {
		if isOriginalKey(entry.Key) {
			if entry.IsList {
				faults = append(faults, fault(file, entry, "", "give one value, not a list"))
				continue
			}
			original[entry.Key] = entry.Values[0]
			continue
		}
		text, err := s.check(file, entry)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		s.file[entry.Key] = settingLine{text: text, line: entry.Line, column: entry.Column}
	}
	return errors.Join(append(faults, s.translate(file, original))...)
}

// isOpen returns an error if every user of the machine may read or change a file.
func isOpen(path string) error {
	_, err := authority.CheckModes(path)
	return err
}

func (s *sources) check(file *configfile.File, entry configfile.Entry) (string, error) {
	k, known := s.key(entry.Key)
	switch {
	case !known:
		entry.Column = entry.KeyColumn
		return "", fault(file, entry, strings.Join(entry.Values, ","),
			"unknown key; "+suggest(entry.Key, names(s.keys), "all keys are in snowgrid config reference"))
	case k.secret && isOpen(file.Path) != nil:
		return "", fault(file, entry, "", "this key is a secret, and "+isOpen(file.Path).Error())
	case entry.IsList && !k.flag.IsSlice():
		return "", fault(file, entry, strings.Join(entry.Values, ","), "give one value, not a list")
	}
	text := strings.Join(entry.Values, "")
	if entry.IsList {
		text = kong.JoinEscaped(entry.Values, ',')
	}
	problem := k.decode(text)
	if k.kind() == "true or false" && !slices.Contains([]string{"true", "false"}, strings.ToLower(text)) {
		problem = "give true or false" // yes, on and 1 are texts and a number in YAML
	}
	if problem != "" {
		return "", origin{fromFile, file.Path, entry.Line, entry.Column}.fault(k.name, text, k.secret, problem)
	}
	return text, nil
}

// translate takes the keys of the original membership service.
func (s *sources) translate(file *configfile.File, original map[string]string) error {
	settings, notes, err := translateOriginal(original)
	if err != nil {
		name, problem, _ := strings.Cut(err.Error(), ": ")
		entry, found := file.Entry(name)
		if !found { // missing, but required by another key for the same seed
			i := slices.IndexFunc(file.Entries, func(e configfile.Entry) bool { return isOriginalKey(e.Key) })
			entry = configfile.Entry{Key: name, Line: file.Entries[i].Line, Column: 1}
		}
		return fault(file, entry, "", problem)
	}
	s.notes = notes
	for _, set := range settings {
		entry, _ := file.Entry(set.Keys[0])
		ours, both := s.file[set.Flag]
		switch {
		case both && set.Implied:
			continue
		case both:
			return fault(file, entry, "", fmt.Sprintf(
				"the key %s on line %d sets the same value; remove one of the two", set.Flag,
				ours.line))
		}
		s.file[set.Flag] = settingLine{text: set.Value, line: entry.Line, column: entry.Column}
	}
	return nil
}

func fault(file *configfile.File, entry configfile.Entry, value, problem string) error {
	return &configfile.Error{Path: file.Path, Line: entry.Line, Column: entry.Column, Key: entry.Key, Value: value,
		Problem: problem}
}
