package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/snowgrid/snowgrid/internal/authority"
)

// packedVariable has a packed directory, for snowgrid secure unpack.
const packedVariable = "SNOWGRID_SECURITY"

type securePackCommand struct {
	Dir string `required:"" help:"Directory of snowgrid secure issue." placeholder:"DIR"`
}

func (c *securePackCommand) Run(to streams) error {
	packed, err := authority.Pack(c.Dir)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(to.out, "%s\n", packed)
	return err
}

type secureUnpackCommand struct {
	Out   string `required:"" help:"Directory for the files. Files of the same names are replaced." placeholder:"DIR"`
	Owner string `help:"User and group of the directory and its files, as numbers; needs root. Default: the user of this process." placeholder:"UID:GID"`
}

func (c *secureUnpackCommand) Run() error {
	if err := checkOut(c.Out); err != nil {
		return err
	}
	owner, group, err := parseOwner(c.Owner)
	if err != nil {
		return usage(err)
	}
	packed := os.Getenv(packedVariable)
	if packed == "" {
		return usage(errors.New(packedVariable + " is not set: give it the output of snowgrid secure pack"))
	}
	return authority.Unpack([]byte(packed), c.Out, owner, group)
}

// parseOwner returns the numbers of UID:GID; "" is -1, -1.
func parseOwner(s string) (owner, group int, err error) {
	if s == "" {
		return -1, -1, nil
	}
	u, g, _ := strings.Cut(s, ":")
	uid, err1 := strconv.ParseUint(u, 10, 31)
	gid, err2 := strconv.ParseUint(g, 10, 31)
	if errors.Join(err1, err2) != nil {
		return 0, 0, fmt.Errorf("--owner %q: give two numbers, such as 65532:65532", s)
	}
	return int(uid), int(gid), nil
}
