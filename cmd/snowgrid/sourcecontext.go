package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/alecthomas/kong"

	"github.com/snowgrid/snowgrid/cmd/snowgrid/internal/configfile"
)

// loadContext reads the context of a command. Only a command that gets neither an address nor a
// configuration file in another way uses the current context, so it never adds to these.
func (s *sources) loadContext(ctx *kong.Context) error {
	name, takes := valueOf[contextName](ctx, false)
	if !takes {
		return nil
	}
	all, err := openContexts()
	chosen := name == ""
	if chosen {
		_, variable := os.LookupEnv(envPrefix + "ADDR")
		_, inFile := os.LookupEnv(envPrefix + "ADDR_FILE")
		if _, given := s.origins["addr"]; err != nil || given || variable || inFile || s.path != "" {
			return nil
		}
		if name, err = all.current(); name == "" {
			return err
		}
	}
	if err != nil {
		return err
	}
	path, err := all.existing(name)
	switch {
	case err != nil && chosen:
		return &configfile.Error{Path: filepath.Join(string(all), currentContext),
			Problem: sentence(err) + "; choose another with snowgrid context use"}
	case err != nil:
		return &configfile.Error{Key: "context", Problem: sentence(err)}
	}
	s.context, err = s.readContext(path)
	s.contextName = name
	return err
}

func (s *sources) readContext(path string) (map[string]settingLine, error) {
	file, err := configfile.Read(path)
	if err != nil {
		return nil, err
	}
	if file.Writable {
		return nil, &configfile.Error{Path: path,
			Problem: fmt.Sprintf("any user on this machine may change the context; run chmod o-w %s", path)}
	}
	set, faults := map[string]settingLine{}, []error(nil)
	for _, entry := range file.Entries {
		k, known := s.key(entry.Key)
		if known && !k.client && !k.flag.Tag.Has("shared") || k.secret {
			faults = append(faults, fault(file, entry, "", "a context has no such key; remove it"))
			continue
		}
		text, err := s.check(file, entry)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		set[entry.Key] = settingLine{text: text, line: entry.Line, column: entry.Column}
	}
	return set, errors.Join(faults...)
}
