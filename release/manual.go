package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
)

// completions are the names of the scripts in an archive, by shell.
var completions = map[string]string{
	"bash": "completions/snowgrid.bash", "zsh": "completions/_snowgrid", "fish": "completions/snowgrid.fish",
}

// manual returns the manual pages and the completion scripts, which the program of this version prints.
func (r *release) manual() (out []member, err error) {
	if r.pages != nil {
		return r.pages, nil
	}
	dir := filepath.Join(r.temp, "man")
	if _, err := r.print("man", "--out", dir); err != nil {
		return nil, err
	}
	pages, err := filesBelow(dir)
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		page.name = path.Join("man", page.name)
		out = append(out, page)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script, err := r.print("completion", shell)
		if err != nil {
			return nil, err
		}
		out = append(out, member{completions[shell], 0o644, script})
	}
	r.pages = out
	return out, nil
}

// print runs the program of this version on this machine, and returns its output.
func (r *release) print(args ...string) ([]byte, error) {
	var out bytes.Buffer
	c := exec.Command("go", append([]string{"run", "-trimpath", modulePath + "/cmd/snowgrid@" + r.version}, args...)...)
	c.Dir, c.Env, c.Stdout, c.Stderr = r.temp, r.env, &out, os.Stderr
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("snowgrid %s: %w", args[0], err)
	}
	return out.Bytes(), nil
}

// installed returns where a package of a format installs a file of the manual.
func installed(name, format string) string {
	switch base := path.Base(name); {
	case path.Dir(name) == "man":
		return "/usr/share/man/man1/" + base
	case name == completions["bash"]:
		return "/usr/share/bash-completion/completions/snowgrid"
	case name == completions["fish"]:
		return "/usr/share/fish/vendor_completions.d/" + base
	case format == "deb":
		return "/usr/share/zsh/vendor-completions/" + base
	default:
		return "/usr/share/zsh/site-functions/" + base
	}
}
