package main

import (
	"context"
	"fmt"
	"os"

	"github.com/snowgrid/snowgrid/client"
)

// numberCommand prints the number that the process with a data directory has in a set.
type numberCommand struct {
	Set     string `help:"Set of the number, for instance the name of the Deployment." required:"" env:"SNOWGRID_NUMBER_SET"`
	Cluster string `help:"Tells sets of one name apart. Default: the grid's name." env:"SNOWGRID_NUMBER_CLUSTER"`
	DataDir string `help:"Directory that keeps the number, one for each process." required:"" env:"SNOWGRID_NUMBER_DATA_DIR" placeholder:"DIR"`
	Write   string `help:"File that gets the number, too, for a container without a shell." placeholder:"FILE"`
	gridOutput
}

type numbered struct {
	Number uint64 `json:"number"`
}

func (n *numberCommand) Run(ctx context.Context, to streams) error {
	var number uint64
	err := n.ask(ctx, func(ctx context.Context) error {
		c, err := n.dial(ctx, client.Config{DataDir: n.DataDir, Cluster: n.Cluster, Set: n.Set})
		if err != nil {
			return err
		}
		number = c.Number()
		return c.Close()
	})
	if err != nil {
		return err
	}
	if n.Write != "" {
		if err := os.WriteFile(n.Write, fmt.Appendln(nil, number), 0o644); err != nil {
			return fmt.Errorf("--write: %w", err)
		}
	}
	return n.line(to.out, numbered{number}, "%d", number)
}
