package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

var shells = []string{"bash", "zsh", "fish"}

// completion names a program's script for a shell, as archives have it.
func completion(program, shell string) string {
	if shell == "zsh" {
		return "completions/_" + program
	}
	return "completions/" + program + "." + shell
}

// manual returns the manual pages and the completion scripts, which the programs print.
func (r *release) manual() (out []member, err error) {
	if r.pages != nil {
		return r.pages, nil
	}
	dir := filepath.Join(r.temp, "man")
	for _, p := range programs {
		if _, err := r.print(p, "man", "--out", dir); err != nil {
			return nil, err
		}
		for _, shell := range shells {
			script, err := r.print(p, "completion", shell)
			if err != nil {
				return nil, err
			}
			out = append(out, member{completion(p, shell), 0o644, 0, script})
		}
	}
	pages, err := filesBelow(dir)
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		page.name = path.Join("man", page.name)
		out = append(out, page)
	}
	r.pages = out
	return out, nil
}

// print runs a program on this machine, in the release's version, and returns its output.
func (r *release) print(p string, args ...string) ([]byte, error) {
	var out bytes.Buffer
	at := modulePath + "/cmd/" + p + "@" + r.version
	c := exec.Command("go", append([]string{"run", "-trimpath", at}, args...)...)
	c.Dir, c.Env, c.Stdout, c.Stderr = r.temp, r.env, &out, os.Stderr
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w", p, args[0], err)
	}
	return out.Bytes(), nil
}

// installed returns where packages in a format install a file from the manual.
func installed(name, format string) string {
	base := path.Base(name)
	switch program, isBash := strings.CutSuffix(base, ".bash"); {
	case path.Dir(name) == "man":
		return "/usr/share/man/man1/" + base + ".gz"
	case name == "changelog.Debian":
		return "/usr/share/doc/snowgrid/" + base + ".gz"
	case isBash:
		return "/usr/share/bash-completion/completions/" + program
	case path.Ext(base) == ".fish":
		return "/usr/share/fish/vendor_completions.d/" + base
	case format == "deb":
		return "/usr/share/zsh/vendor-completions/" + base
	default:
		return "/usr/share/zsh/site-functions/" + base
	}
}
