package kongdocs

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/snowgrid/snowgrid/internal/buildinfo"
)

// Man is the command that prints or writes manual pages.
type Man struct {
	Command []string `arg:"" optional:"" help:"Command whose page is printed. Default: the page of the program."`
	Out     string   `help:"Write the pages of all commands into this directory." placeholder:"DIR"`

	node *kong.Node `kong:"-"`
}

// AfterApply finds the command, so that an unknown one is an error of the command line.
func (c *Man) AfterApply(ctx *kong.Context) error {
	c.node = ctx.Model.Node
	for _, word := range c.Command {
		if c.node = Child(c.node, word); c.node == nil || c.node.Hidden {
			return fmt.Errorf("there is no command %q", strings.Join(c.Command, " "))
		}
	}
	return nil
}

// Run prints a page, or writes the pages of a command and of all below it.
func (c *Man) Run(ctx *kong.Context, program Program) error {
	if c.Out == "" {
		_, err := fmt.Fprint(ctx.Stdout, program.page(c.node))
		return err
	}
	err := os.MkdirAll(c.Out, 0o755) //nolint:gosec // every user reads manual pages
	if err == nil {
		err = program.writePages(c.Out, c.node)
	}
	if err != nil {
		return fmt.Errorf("--out=%s: %w; give a directory that can be written", c.Out, err)
	}
	return nil
}

// writePages writes the pages of a command and of all below it, up to the first that cannot be written.
func (p Program) writePages(dir string, node *kong.Node) error {
	//nolint:gosec // every user reads manual pages
	err := os.WriteFile(filepath.Join(dir, PageName(node)+".1"), []byte(p.page(node)), 0o644)
	for _, c := range node.Children {
		if err == nil && !c.Hidden {
			err = p.writePages(dir, c)
		}
	}
	return err
}

// PageName names a command's page.
func PageName(node *kong.Node) string { return strings.ReplaceAll(node.FullPath(), " ", "-") }

// Describe gives the commands below a node the part of their --help between the usage and the flags. A command has it
// in a file named as its manual page: help/secure-rotate.txt for snowgrid secure rotate.
func Describe(node *kong.Node, texts fs.FS) {
	for _, c := range node.Children {
		name := strings.TrimPrefix(PageName(c), programName(c)+"-") + ".txt"
		if text, err := fs.ReadFile(texts, "help/"+name); err == nil { // some need none
			c.Detail = strings.TrimSuffix(string(text), "\n")
		}
		Describe(c, texts)
	}
}

// page returns a command's page for man(7). It has no date, so a build of the same version has the
// same pages.
func (p Program) page(node *kong.Node) string {
	var out strings.Builder
	brief, detail, _ := strings.Cut(node.Help, "\n")
	if node.Detail != "" {
		detail = node.Detail
	}
	fmt.Fprintf(&out, ".TH %s 1 \"\" \"snowgrid %s\" \"snowgrid manual\"\n.nh\n", strings.ToUpper(PageName(node)),
		Roff(buildinfo.Read().Short()))
	fmt.Fprintf(&out, ".SH NAME\n%s \\- %s\n", Roff(PageName(node)), Roff(strings.TrimSuffix(brief, ".")))
	fmt.Fprintf(&out, ".SH SYNOPSIS\n.B %s\n%s\n", Roff(programName(node)),
		Roff(strings.TrimSpace(node.Summary())))
	out.WriteString(".SH DESCRIPTION\n")
	writeRoff(&out, cmp.Or(strings.TrimSpace(detail), brief))
	if len(node.Positional) > 0 {
		out.WriteString(".SH ARGUMENTS\n")
		for _, a := range node.Positional {
			fmt.Fprintf(&out, ".TP\n.B %s\n%s\n", Roff(a.Summary()), Roff(a.Help))
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
	writeRoff(&out, strings.TrimPrefix(p.Exit, "Exit status: "))
	if node.Parent != nil {
		fmt.Fprintf(&out, ".SH SEE ALSO\n.BR %s (1)\n", Roff(PageName(node.Parent)))
	}
	return out.String()
}

// programName returns the name of the program that has a command.
func programName(node *kong.Node) string {
	for node.Parent != nil {
		node = node.Parent
	}
	return node.Name
}

func writeManFlag(out *strings.Builder, flag *kong.Flag) {
	name := "--" + flag.Name
	if flag.Short != 0 {
		name = "-" + string(flag.Short) + ", " + name
	}
	if !flag.IsBool() {
		name += "=" + flag.FormatPlaceHolder()
	}
	fmt.Fprintf(out, ".TP\n.B %s\n%s\n", Roff(name), Roff(flag.Help))
	if len(flag.Envs) > 0 {
		fmt.Fprintf(out, "Environment: %s.\n", Roff(strings.Join(flag.Envs, ", ")))
	}
}

func writeManCommands(out *strings.Builder, node *kong.Node) {
	if len(node.Children) == 0 {
		return
	}
	out.WriteString(".SH COMMANDS\n")
	for _, c := range node.Children {
		if !c.Hidden {
			fmt.Fprintf(out, ".TP\n.BR %s (1)\n%s\n", Roff(PageName(c)), Roff(c.Help))
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
			fmt.Fprintf(out, ".RS 4\n.nf\n%s\n", Roff(code))
		case indented:
			fmt.Fprintf(out, "%s\n", Roff(code))
		case verbatim:
			verbatim = false
			fmt.Fprintf(out, ".fi\n.RE\n.PP\n%s\n", Roff(line))
		default:
			fmt.Fprintf(out, "%s\n", Roff(line))
		}
	}
	if verbatim {
		out.WriteString(".fi\n.RE\n")
	}
}

// Roff escapes a line: backslashes, hyphens that are typed as they are, and a control character at the
// begin.
func Roff(line string) string {
	line = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	return line
}
