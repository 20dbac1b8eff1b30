package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/snowgrid/snowgrid/internal/buildinfo"
)

type manCommand struct {
	Command []string `arg:"" optional:"" help:"Command whose page is printed. Default: the page of snowgrid itself."`
	Out     string   `help:"Write the pages of all commands into this directory." placeholder:"DIR"`
}

func (c *manCommand) Run(ctx *kong.Context, to streams) error {
	node := ctx.Model.Node
	for _, word := range c.Command {
		if node = child(node, word); node == nil || node.Hidden {
			return usage(fmt.Errorf("there is no command %q; see snowgrid --help", strings.Join(c.Command, " ")))
		}
	}
	if c.Out == "" {
		_, err := fmt.Fprint(to.out, manPage(node))
		return err
	}
	if err := os.MkdirAll(c.Out, 0o755); err != nil { //nolint:gosec // every user reads manual pages
		return err
	}
	return writeManPages(c.Out, node)
}

// writeManPages writes the pages of a command and of all below it.
func writeManPages(dir string, node *kong.Node) error {
	//nolint:gosec // every user reads manual pages
	err := os.WriteFile(filepath.Join(dir, manName(node)+".1"), []byte(manPage(node)), 0o644)
	for _, c := range node.Children {
		if !c.Hidden {
			err = errors.Join(err, writeManPages(dir, c))
		}
	}
	return err
}

// manName names a command's page.
func manName(node *kong.Node) string { return strings.ReplaceAll(node.FullPath(), " ", "-") }

// manPage returns a command's page for man(7). It has no date, so a build of the same version has the
// same pages.
func manPage(node *kong.Node) string {
	var out strings.Builder
	brief, detail, _ := strings.Cut(node.Help, "\n")
	if node.Detail != "" {
		detail = node.Detail
	}
	fmt.Fprintf(&out, ".TH %s 1 \"\" \"snowgrid %s\" \"snowgrid manual\"\n.nh\n", strings.ToUpper(manName(node)),
		roff(buildinfo.Read().Short()))
	fmt.Fprintf(&out, ".SH NAME\n%s \\- %s\n", roff(manName(node)), roff(strings.TrimSuffix(brief, ".")))
	fmt.Fprintf(&out, ".SH SYNOPSIS\n.B snowgrid\n%s\n", roff(strings.TrimSpace(node.Summary())))
	out.WriteString(".SH DESCRIPTION\n")
	writeRoff(&out, cmp.Or(strings.TrimSpace(detail), brief))
	if len(node.Positional) > 0 {
		out.WriteString(".SH ARGUMENTS\n")
		for _, p := range node.Positional {
			fmt.Fprintf(&out, ".TP\n.B %s\n%s\n", roff(p.Summary()), roff(p.Help))
		}
	}
	out.WriteString(".SH OPTIONS\n")
	for _, level := range node.AllFlags(true) {
		for _, flag := range level {
			writeManFlag(&out, flag)
		}
	}
	writeManCommands(&out, node)
	out.WriteString(".SH EXIT STATUS\n")
	writeRoff(&out, strings.TrimPrefix(exitText, "Exit status: "))
	if node.Parent != nil {
		fmt.Fprintf(&out, ".SH SEE ALSO\n.BR %s (1)\n", roff(manName(node.Parent)))
	}
	return out.String()
}

func writeManFlag(out *strings.Builder, flag *kong.Flag) {
	name := "--" + flag.Name
	if flag.Short != 0 {
		name = "-" + string(flag.Short) + ", " + name
	}
	if !flag.IsBool() {
		name += "=" + flag.FormatPlaceHolder()
	}
	fmt.Fprintf(out, ".TP\n.B %s\n%s\n", roff(name), roff(flag.Help))
	if len(flag.Envs) > 0 {
		fmt.Fprintf(out, "Environment: %s.\n", roff(strings.Join(flag.Envs, ", ")))
	}
}

func writeManCommands(out *strings.Builder, node *kong.Node) {
	if len(node.Children) == 0 {
		return
	}
	out.WriteString(".SH COMMANDS\n")
	for _, c := range node.Children {
		if !c.Hidden {
			fmt.Fprintf(out, ".TP\n.BR %s (1)\n%s\n", roff(manName(c)), roff(c.Help))
		}
	}
}

// writeRoff writes paragraphs, and indented lines as they are.
func writeRoff(out *strings.Builder, text string) {
	verbatim := false
	for line := range strings.SplitSeq(text, "\n") {
		switch code, indented := strings.CutPrefix(line, "    "); {
		case line == "" && verbatim:
			out.WriteString("\n")
		case line == "":
			out.WriteString(".PP\n")
		case indented && !verbatim:
			verbatim = true
			fmt.Fprintf(out, ".RS 4\n.nf\n%s\n", roff(code))
		case indented:
			fmt.Fprintf(out, "%s\n", roff(code))
		case verbatim:
			verbatim = false
			fmt.Fprintf(out, ".fi\n.RE\n.PP\n%s\n", roff(line))
		default:
			fmt.Fprintf(out, "%s\n", roff(line))
		}
	}
	if verbatim {
		out.WriteString(".fi\n.RE\n")
	}
}

// roff escapes a line: backslashes, hyphens that are typed as they are, and a control character at the
// begin.
func roff(line string) string {
	line = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	return line
}
