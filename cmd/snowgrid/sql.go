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
