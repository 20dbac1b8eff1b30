package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/snowgrid/snowgrid/grid"
)

// reloadedKeys lists the keys that SIGHUP changes in a running agent. Each has a step in
// [reloader.prepare].
var reloadedKeys = []string{"log-level"}

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
	var commit func()
	var secrets bool
	if err == nil {
		commit, secrets, err = r.prepare(flags)
	}
	if err != nil {
		r.log.Error("configuration not reloaded", "error", settingText(err), "remedy",
			"correct it and send SIGHUP again; the earlier values remain")
		return
	}
	var changed, kept []string
	for _, name := range changedKeys(r.values, values) {
		if slices.Contains(reloadedKeys, name) {
			changed = append(changed, name+": "+r.values[name]+" -> "+values[name])
		} else {
			kept = append(kept, name)
		}
	}
	if secrets {
		changed = append(changed, "certificates and keys")
	}
	if flags.LogLevel <= r.level.Level() {
		commit() // the lines below are logged at the more detailed level
	} else {
		defer commit()
	}
	r.log.Info("configuration reloaded", "changed", strings.Join(changed, ", "))
	if len(kept) > 0 {
		r.log.Warn("configuration changed; a running member keeps the earlier values",
			"keys", strings.Join(kept, ", "), "remedy",
			"restart the member to apply the new values")
	}
	for _, name := range reloadedKeys {
		r.values[name] = values[name]
	}
}

// prepare checks everything that a reload changes, and returns the step that changes it. The
// step cannot fail, so that a reload changes all of it or nothing. Certificates and keys are
// read last, and are in use if that does not fail; secrets reports whether they have changed.
func (r *reloader) prepare(next *agentFlags) (commit func(), secrets bool, err error) {
	if m := r.member.Load(); m != nil {
		if secrets, err = m.ReloadSecurity(); err != nil {
			return nil, false, next.fault(err)
		}
	}
	return func() { r.level.Set(next.LogLevel) }, secrets, nil
}

// changedKeys returns, sorted, the keys with different values.
func changedKeys(before, after map[string]string) []string {
	var out []string
	for name, value := range after {
		if before[name] != value {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
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
