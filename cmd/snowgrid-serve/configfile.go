package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/alecthomas/kong"

	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/internal/kongdocs"
)

// configMax is a configuration file's maximum size, in bytes.
const configMax = 1 << 20

// configFile resolves flags from the JSON file in --config. A key names a flag: the words in nested
// keys are joined, and "_", "." and capitals separate words, so that {"s3":{"bucketName":"b"}} is
// --s3-bucket-name and {"etcd_endpoints":[...]} is --etcd-endpoints. The keys are the flags of serve,
// so that one file suits every command; a flag of another command alone, such as the floor that a
// repair asserts, is none.
type configFile struct {
	read   bool
	values map[string]string // by flag name
	err    error
}

func (c *configFile) Validate(*kong.Application) error { return nil }

func (c *configFile) Resolve(ctx *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if !c.read {
		c.read = true
		c.values, c.err = readConfig(ctx)
	}
	if c.err != nil {
		return nil, c.err
	}
	for _, name := range flag.Envs {
		if os.Getenv(name) != "" {
			return nil, nil // the variable is the flag's value already
		}
	}
	if value, stated := c.values[flag.Name]; stated {
		return value, nil
	}
	return nil, nil
}

func readConfig(ctx *kong.Context) (map[string]string, error) {
	path := ""
	for _, flag := range ctx.Model.Flags {
		if flag.Name == "config" {
			path, _ = ctx.FlagValue(flag).(string)
		}
	}
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, &configError{path, err}
	}
	defer func() { _ = file.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(file, configMax+1))
	if err != nil {
		return nil, &configError{path, err}
	}
	if len(text) > configMax {
		return nil, &configError{path, fmt.Errorf("larger than %d bytes; is it the right file?", configMax)}
	}
	values, keys, err := parseConfig(text)
	if err != nil {
		return nil, &configError{path, err}
	}
	known := map[string]bool{}
	for _, flag := range kongdocs.Child(ctx.Model.Node, "serve").Flags {
		known[flag.Name] = true // not of the program: config and help
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !known[name] {
			return nil, &configError{path,
				fmt.Errorf("the key %q is unknown; see snowgrid-serve serve --help for the flags, whose names are the keys",
					keys[name])}
		}
		if values[name] != "" && isSecret(name, values[name]) {
			if _, err := authority.CheckModes(path); err != nil {
				return nil, &configError{path, fmt.Errorf("the key %q is a secret, and %w", keys[name], err)}
			}
		}
	}
	return values, nil
}

// isSecret reports whether a flag's value has a password or a key.
func isSecret(flag, value string) bool {
	return flag == "s3-secret-key" || flag == "etcd-password" ||
		flag == "store" && strings.Contains(value, "://") && strings.Contains(value, "@")
}

type configError struct {
	path string
	err  error
}

func (e *configError) Error() string { return fmt.Sprintf("--config %s: %v", e.path, e.err) }

func (e *configError) Unwrap() error { return e.err }

// parseConfig returns a configuration's values by flag name, and their keys in the file.
func parseConfig(text []byte) (values, keys map[string]string, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var tree map[string]any
	if err := dec.Decode(&tree); err != nil {
		return nil, nil, fmt.Errorf("not a JSON object: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, nil, errors.New("there is text after the JSON object")
	}
	values, keys = map[string]string{}, map[string]string{}
	return values, keys, flatten(values, keys, "", "", tree)
}

// flatten adds a JSON object's values and their keys; the names begin with the enclosing keys'.
func flatten(values, keys map[string]string, prefix, path string, tree map[string]any) error {
	for key, value := range tree {
		name, full := prefix+flagName(key), path+key
		if _, twice := values[name]; twice {
			return fmt.Errorf("the keys %q and %q are one setting; give one of both", min(full, keys[name]),
				max(full, keys[name]))
		}
		switch v := value.(type) {
		case nil:
			// as if it were left out
		case map[string]any:
			if err := flatten(values, keys, name+"-", full+".", v); err != nil {
				return err
			}
		case []any:
			words := make([]string, len(v))
			for i, word := range v {
				text, is := word.(string)
				if !is {
					return fmt.Errorf("the list %q has something else than strings", full)
				}
				words[i] = text
			}
			values[name], keys[name] = strings.Join(words, ","), full
		default:
			values[name], keys[name] = fmt.Sprint(v), full
		}
	}
	return nil
}

// flagName converts one key to a flag: bucketName and bucket_name are bucket-name, taskID and
// taskId are task-id.
func flagName(key string) string {
	var name strings.Builder
	before := 'A'
	for _, r := range key {
		begins := unicode.IsUpper(r) && !unicode.IsUpper(before)
		before = r
		switch {
		case r == '_' || r == '.':
			name.WriteByte('-')
		case begins:
			name.WriteByte('-')
			name.WriteRune(unicode.ToLower(r))
		default:
			name.WriteRune(unicode.ToLower(r))
		}
	}
	return name.String()
}
