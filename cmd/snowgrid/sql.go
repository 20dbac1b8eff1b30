package main

import (
	"cmp"
	"io"

	"github.com/snowgrid/snowgrid/internal/definitionflags"
	"github.com/snowgrid/snowgrid/internal/sqlfunctions"
	"github.com/snowgrid/snowgrid/sequencer"
)

type sqlCommand struct {
	Name    string `arg:"" help:"Name of the sequencer. Its letters and digits begin the names of the functions."`
	Dialect string `required:"" enum:"postgres,mysql,sqlite,clickhouse" help:"Database: postgres, mysql (and MariaDB), sqlite or clickhouse." placeholder:"NAME"`
	Prefix  string `help:"Beginning of the names of the functions, in place of the sequencer's name." placeholder:"TEXT"`
	definitionflags.Definition
}

func (sqlCommand) Help() string {
	return `The functions return the time, logical node and counter of an ID, the smallest and largest ID of a time, and
the text of an ID in Base32, and read that text. SQLite has no functions in SQL: it gets a view and two queries.

The command needs no grid. It needs the epoch, node count and layout of the sequencer, as snowgrid decode does.

    snowgrid sql --dialect postgres orders | psql shop
    snowgrid sql --dialect mysql tweets --layout twitter
    snowgrid sql --dialect sqlite orders --nodes 128 --epoch 2025-06-01`
}

func (c *sqlCommand) Run(to streams) error {
	definition, err := sequencer.Define(c.Name, c.Config())
	if err != nil {
		return usage(err)
	}
	prefix := cmp.Or(c.Prefix, sqlfunctions.Prefix(c.Name))
	text, err := sqlfunctions.Text(sqlfunctions.Dialect(c.Dialect), prefix, definition)
	if err != nil {
		return usage(err)
	}
	_, err = io.WriteString(to.out, text)
	return err
}
