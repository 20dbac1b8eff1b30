package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// aliveCommand checks one member's liveness, for images without curl.
type aliveCommand struct {
	Addr    string        `help:"API address of the member, host:port." default:"127.0.0.1:7948" env:"SNOWGRID_ALIVE_ADDR"`
	Timeout time.Duration `help:"Time limit for the answer." default:"3s"`
	fileFlag
	accessFlags
	outputFlag
}

type alive struct {
	Alive bool   `json:"alive"` // true: a member that does not answer is an error
	Addr  string `json:"addr"`
}

func (a *aliveCommand) Run(ctx context.Context, to streams) error {
	member := gridFlags{clientFlags: clientFlags{[]string{a.Addr}, a.Timeout}, accessFlags: a.accessFlags}
	err := member.ask(ctx, func(ctx context.Context) error {
		_, err := read(ctx, a.Addr, "/livez")
		return err
	})
	if unexpected, is := errors.AsType[*httpStatusError](err); is {
		return fmt.Errorf("%s answers %s to /livez; check that it is a member's API address", a.Addr, unexpected.text)
	}
	if err != nil {
		return err
	}
	return a.line(to.out, alive{Alive: true, Addr: a.Addr}, "alive")
}
