package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/internal/tcp"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// leaveTimeout limits the time in which a command releases its logical nodes at the
// end. The grid reclaims the others after their session.
const leaveTimeout = 5 * time.Second

// gridFlags are the flags for commands that use a grid.
type gridFlags struct {
	clientFlags `group:"grid"`
	contextFlag `group:"grid"`
	fileFlag    `group:"grid"`
	accessFlags `group:"grid"`
}

// gridOutput are the flags for commands that print a grid's answer.
type gridOutput struct {
	gridFlags
	outputFlag
}

type clientFlags struct {
	Addr    []string      `help:"API addresses of members; one reachable address is enough." default:"127.0.0.1:7948" env:"SNOWGRID_ADDR"`
	Timeout time.Duration `help:"Time limit for answers of the grid, and for IDs." default:"10s" env:"SNOWGRID_TIMEOUT"`
}

// ask runs f with the timeout and the access for calls to the grid.
func (g gridFlags) ask(ctx context.Context, f func(context.Context) error) error {
	if err := checkAddrs(g.Addr...); err != nil {
		return err
	}
	if err := checkTimeout("timeout", g.Timeout); err != nil {
		return err
	}
	asking, cancel := context.WithTimeout(ctx, g.Timeout)
	defer cancel()
	asking, err := g.reach(asking)
	if err != nil {
		return err
	}
	return f(asking)
}

// asked returns the result of f, which runs as by ask.
func asked[T any](ctx context.Context, g gridFlags, f func(context.Context) (T, error)) (out T, err error) {
	err = g.ask(ctx, func(ctx context.Context) (err error) {
		out, err = f(ctx)
		return err
	})
	return out, err
}

// checkAddrs refuses addresses that no member can have, and a list without one.
func checkAddrs(addrs ...string) error {
	if len(addrs) == 0 {
		return badValue("addr", "", "the list is empty; give host:port, such as 127.0.0.1:7948")
	}
	for _, addr := range addrs {
		if err := tcp.CheckAddr(addr); err != nil && strings.Contains(addr, ",") {
			return badValue("addr", addr, "this command calls one member; give one host:port")
		} else if err != nil {
			return badValue("addr", addr, "%v", err)
		}
		if _, port, _ := net.SplitHostPort(addr); strings.Trim(port, "0") == "" {
			return badValue("addr", addr, "the port is %.20q; give 1 to 65535", port)
		}
	}
	return nil
}

// checkTimeout refuses a time limit that has ended when it begins.
func checkTimeout(flag string, limit time.Duration) error {
	if limit <= 0 {
		return badValue(flag, limit, "give a duration above 0, such as 10s")
	}
	return nil
}

func (g gridFlags) dial(ctx context.Context, cfg client.Config) (*client.Client, error) {
	if err := meet(ctx, g.Addr); err != nil {
		return nil, err
	}
	cfg.Addrs = g.Addr
	var err error
	if cfg.Security, err = g.security(); err != nil {
		return nil, err
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler) // the command's error has the same text
	}
	return client.Dial(ctx, cfg)
}

// use runs f with a client, which has left the grid when use returns.
func (g gridFlags) use(ctx context.Context, f func(*client.Client) error) (err error) {
	c, err := asked(ctx, g, func(ctx context.Context) (*client.Client, error) {
		return g.dial(ctx, client.Config{Labels: commandLabels()})
	})
	if err != nil {
		return err
	}
	defer func() {
		// ctx may have ended; leaving has its own time limit.
		leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(leaveTimeout, g.Timeout))
		defer cancel()
		if leaveErr := c.Leave(leaving); leaveErr != nil && err == nil {
			err = fmt.Errorf("leave the grid: %w", leaveErr)
		}
	}()
	return f(c)
}

// commandLabels describe this process to operators.
func commandLabels() map[string]string {
	labels := map[string]string{"service": "snowgrid", "pid": strconv.Itoa(os.Getpid())}
	if host, err := os.Hostname(); err == nil {
		labels["host"] = host
	}
	if wire.CheckLabels(labels) != nil { // the host name is too long
		delete(labels, "host")
	}
	return labels
}
