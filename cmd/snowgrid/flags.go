package main

import (
	"context"
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/client"
)

// leaveTimeout limits the time in which a command releases its logical nodes at the
// end. The grid reclaims the others after their session.
const leaveTimeout = 5 * time.Second

// gridFlags are the addresses of the grid.
type gridFlags struct {
	Addr    []string      `help:"API addresses of members; one reachable address is enough." default:"127.0.0.1:7948" env:"SNOWGRID_ADDR"`
	Timeout time.Duration `help:"Time limit for answers of the grid." default:"10s" env:"SNOWGRID_TIMEOUT"`
}

// ask runs f with the time limit for calls to the grid.
func (g gridFlags) ask(ctx context.Context, f func(context.Context) error) error {
	asking, cancel := context.WithTimeout(ctx, g.Timeout)
	defer cancel()
	return f(asking)
}

// use runs f with a client, which has left the grid when use returns.
func (g gridFlags) use(ctx context.Context, f func(*client.Client) error) (err error) {
	var c *client.Client
	err = g.ask(ctx, func(ctx context.Context) (err error) {
		c, err = client.Dial(ctx, client.Config{Addrs: g.Addr})
		return err
	})
	if err != nil {
		return err
	}
	defer func() {
		// ctx may have ended; leaving has a time limit of its own.
		leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
		defer cancel()
		if leaveErr := c.Leave(leaving); leaveErr != nil && err == nil {
			err = fmt.Errorf("leave the grid: %w", leaveErr)
		}
	}()
	return f(c)
}
