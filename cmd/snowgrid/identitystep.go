package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// identityApplyCommand applies for a number.
type identityApplyCommand struct {
	ID          uint64 `arg:"" name:"number" help:"Number to apply for, as snowgrid identity next prints it."`
	Code        string `help:"Register code: 32 hex digits that the process keeps. Default: a random one, which is printed." placeholder:"HEX"`
	ProcessAddr string `help:"Address of the process, for the list." placeholder:"ADDR"`
	setFlags
}

// Help returns the --help text between the usage and the flags.
func (identityApplyCommand) Help() string {
	return `An application is accepted for the next number of the set, and again for the same number with the same code, so
repeat it when there was no answer. Keep the number and the code in a file before you apply, as snowgrid
number does: after a crash the same application succeeds again, and no number is lost.

    snowgrid identity apply 3 --set web --code 5f0e...9a --process-addr 10.0.0.3:80`
}

// applied is the command's result as JSON.
type applied struct {
	ID   uint64      `json:"id"`
	Code roster.Code `json:"code"`
	Next uint64      `json:"next"`
}

// Run applies for the number.
func (c *identityApplyCommand) Run(ctx context.Context, to streams) (err error) {
	var code roster.Code
	if c.Code == "" {
		_, _ = rand.Read(code[:]) // never fails
	} else if code, err = parseCode(c.Code); err != nil {
		return err
	}
	var out wire.IdentityApplyResponse
	err = c.call(ctx, wire.PathIdentityApply, func(cluster string) any {
		return wire.IdentityApplyRequest{Cluster: cluster, Name: c.Set, ID: c.ID, Code: code, Addr: c.ProcessAddr}
	}, &out)
	if err != nil {
		return err
	}
	return c.result(to.out, applied{out.ID, code, out.Next}, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "number %d with code %s\n", out.ID, code)
		return err
	})
}

// identityRegisterCommand registers a process.
type identityRegisterCommand struct {
	ID          uint64 `arg:"" name:"number" help:"Number of the process."`
	Code        string `required:"" help:"Register code of the number: 32 hex digits." placeholder:"HEX"`
	ProcessAddr string `help:"Address of the process, for the list." placeholder:"ADDR"`
	Incarnation uint64 `help:"Incarnation from an earlier registration of the same process: shows that it is still alive. Default: a new start, which fences every earlier one."`
	setFlags
}

// Help returns the --help text between the usage and the flags.
func (identityRegisterCommand) Help() string {
	return `Each start of a process registers once and gets a greater incarnation than the starts before, which are fenced: they
get no new grants. It then registers again every 5 s, with that incarnation, to count as alive.

    snowgrid identity register 3 --set web --code 5f0e...9a --process-addr 10.0.0.3:80
    snowgrid identity register 3 --set web --code 5f0e...9a --process-addr 10.0.0.3:80 --incarnation 12`
}

// Run registers the process.
func (c *identityRegisterCommand) Run(ctx context.Context, to streams) error {
	code, err := parseCode(c.Code)
	if err != nil {
		return err
	}
	var out wire.IdentityRegisterResponse
	err = c.call(ctx, wire.PathIdentityRegister, func(cluster string) any {
		return wire.IdentityRegisterRequest{
			Cluster: cluster, Name: c.Set, ID: c.ID, Code: code, Addr: c.ProcessAddr, Incarnation: c.Incarnation,
			Protocol: int(roster.CurrentProtocol),
		}
	}, &out)
	if err != nil {
		return err
	}
	return c.result(to.out, out, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "incarnation %d\n", out.Incarnation)
		return err
	})
}
