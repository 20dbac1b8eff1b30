package main

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/snowgrid/snowgrid/grid"
)

// reloadedKey is the key that SIGHUP changes in a running agent.
const reloadedKey = "log-level"

// reloader reads a running agent's configuration again on SIGHUP. The command line and the environment
// stay as they were at the start, so only the file, and files named by variables, can have changed.
type reloader struct {
	args   arguments
	values map[string]string // all keys, at the last reload
	level  *slog.LevelVar
	log    *slog.Logger
	member atomic.Pointer[grid.Member] // nil until it serves
}

// newReloader returns a reloader for an agent with these arguments and values.
func newReloader(args arguments, values map[string]string, level *slog.LevelVar, log *slog.Logger) *reloader {
	return &reloader{args: args, values: values, level: level, log: log}
}

// serves has the certificates and keys of a member reloaded, too.
func (r *reloader) serves(m *grid.Member) { r.member.Store(m) }

// run reloads on each SIGHUP until ctx ends, and notifies manager. SIGHUP never ends a running agent.
func (r *reloader) run(ctx context.Context, manager *serviceManager) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	go func() {
		defer signal.Stop(hangup)
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangup:
				manager.reload(r.reload)
			}
		}
	}()
}

// reload applies a changed configuration. An error changes nothing.
func (r *reloader) reload() {
	flags, values, err := parseAgain(r.args)
	secrets := false // whether certificates and keys have changed
	if m := r.member.Load(); err == nil && m != nil {
		if secrets, err = m.ReloadSecurity(); err != nil { // last: the new ones are in use if it does not fail
			err = flags.fault(err)
		}
	}
	if err != nil {
		r.log.Error("configuration not reloaded", "error", settingText(err), "remedy",
			"correct it and send SIGHUP again; the earlier values remain")
		return
	}
	var changed, kept []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch {
		case values[name] == r.values[name]:
		case name == reloadedKey:
			changed = append(changed, name+": "+r.values[name]+" -> "+values[name])
		default:
			kept = append(kept, name)
		}
	}
	if secrets {
		changed = append(changed, "certificates and keys")
	}
	if flags.LogLevel <= r.level.Level() {
		r.level.Set(flags.LogLevel) // the lines below are logged at the more detailed level
	} else {
		defer r.level.Set(flags.LogLevel)
	}
	r.log.Info("configuration reloaded", "changed", strings.Join(changed, ", "))
	if len(kept) > 0 {
		r.log.Warn("configuration changed; a running member keeps the earlier values",
			"keys", strings.Join(kept, ", "), "remedy",
			"restart the member to apply the new values")
	}
	r.values[reloadedKey] = values[reloadedKey]
}

// parseAgain parses and checks the command line of a running agent again.
func parseAgain(args arguments) (*agentFlags, map[string]string, error) {
	var parsed commands
	from := newSources()
	parser, err := newParser(&parsed, from, kong.Writers(io.Discard, io.Discard), kong.Exit(func(int) {}))
	if err != nil {
		return nil, nil, err
	}
	ctx, err := parser.Parse(args)
	if err != nil {
		return nil, nil, err
	}
	if _, err := parsed.Agent.check(from); err != nil {
		return nil, nil, err
	}
	return &parsed.Agent.agentFlags, valuesOf(ctx, from), nil
}

// valuesOf returns a command's value for each key, as printed by config print.
func valuesOf(ctx *kong.Context, from *sources) map[string]string {
	out := map[string]string{}
	for _, flag := range ctx.Selected().Flags {
		if k, known := from.key(flag.Name); known {
			out[k.name] = k.value(flag)
		}
	}
	return out
}
