package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/security"
)

type secureShowCommand struct {
	Dir string `required:"" help:"Directory of snowgrid secure init or secure issue." placeholder:"DIR"`
	outputFlag
}

func (c *secureShowCommand) Run(to streams) error {
	now := time.Now()
	contents, err := authority.Inspect(c.Dir, now)
	if err != nil {
		return usage(err) // the directory is not there
	}
	if len(contents.Certificates)+len(contents.Keys) == 0 {
		return fmt.Errorf("%s has no certificates and no keys (%s); give a directory of snowgrid secure init or secure issue",
			c.Dir, strings.Join(contents.Warnings, "; "))
	}
	return c.result(to.out, contents, func(w io.Writer) { printContents(w, contents, now) })
}

func printContents(w io.Writer, c authority.Contents, now time.Time) {
	fmt.Fprint(w, "FILE\tROLE\tNAME\tNAMES\tHOSTS\tENDS\tDAYS LEFT\n")
	for _, cert := range c.Certificates {
		role, names := string(cert.Role), "all"
		if cert.Role == security.NoRole {
			role, names = "authority", "-"
		}
		if len(cert.Names) > 0 {
			names = listOf(cert.Names, " ")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%d\n", cert.File, role, orNone(cert.Name), names,
			orNone(strings.Join(cert.Hosts, " ")),
			cert.Ends.UTC().Format(time.DateOnly), int(cert.Ends.Sub(now).Hours()/24))
	}
	if len(c.Keys) > 0 {
		fmt.Fprint(w, "\nFILE\tKEY\tUSE\n")
	}
	for _, k := range c.Keys {
		fmt.Fprintf(w, "%s\t%s\t%s\n", k.File, k.Fingerprint, k.Use)
	}
	if len(c.Certificates) > 0 && c.Certificates[0].Grid != "" {
		fmt.Fprintf(w, "\nfor the grid %q\n", c.Certificates[0].Grid)
	}
	if warnings := warningsIn(c); len(warnings) > 0 {
		fmt.Fprintf(w, "\n%s\n", strings.Join(warnings, "\n"))
	}
	if len(c.Issuing) > 0 {
		fmt.Fprintf(w, "\n%s: keep only where certificates and tokens are issued, on no server\n",
			strings.Join(c.Issuing, ", "))
	}
}

// warningsIn returns the warnings about a directory, each with its file.
func warningsIn(c authority.Contents) (out []string) {
	for _, cert := range c.Certificates {
		for _, warning := range cert.Warnings {
			out = append(out, "warning: "+cert.File+": "+warning)
		}
	}
	for _, warning := range c.Warnings {
		out = append(out, "warning: "+warning)
	}
	return out
}

// listOf joins texts of any type.
func listOf[T ~string](list []T, between string) string {
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = string(v)
	}
	return strings.Join(parts, between)
}
