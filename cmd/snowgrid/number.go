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

// numbered is the command's result as JSON.
type numbered struct {
	Number uint64 `json:"number"`
}

func (numberCommand) Help() string {
	return `The command prints a number, 1 or larger, and nothing else. It is the same each time for one data directory, and
another one for each other directory of the set: 1 for the first, 2 for the next, without gaps, also when many
start at the same time or are killed at any moment. No number is ever given to a second directory, also after
its process is gone for good ("snowgrid identity clean" forgets such a process, and its number stays unused).

    snowgrid number --set web --data-dir /var/lib/web
    n=$(snowgrid number --cluster shop --set web --data-dir /var/lib/web \
        --addr ids.internal:7948)

It ends with status 1 and prints nothing if there is no answer within --timeout; the next run continues where
this one ended. Two processes must not use a directory at the same time: the second one is refused.

The pods of a Deployment get stable small ordinals in this way, without a StatefulSet. Run it in an init
container that writes the number to a volume, which the other containers mount as well:

    initContainers:
    - name: number
      image: snowgrid
      args: [number, --set=web, --data-dir=/number, --addr=ids:7948,
             --write=/number/ordinal]
      volumeMounts: [{name: number, mountPath: /number}]

The number lasts as long as the directory. An emptyDir lasts as long as the pod, whose containers may restart; a
pod that replaces it has the next number. To keep it, give the directory to the pod by a volume that outlives
it, such as a PersistentVolumeClaim or a hostPath on the node.`
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
