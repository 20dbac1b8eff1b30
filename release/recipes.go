package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
)

// formula is the Homebrew formula. It takes the archives from the release page.
var formula = template.Must(template.New("formula").Parse(`class Snowgrid < Formula
  desc "{{.Summary}}"
  homepage "{{.Homepage}}"
  version "{{.Version}}"
  license "{{.Licence}}"
{{range .Systems}}
  on_{{.Name}} do
{{- range .Archives}}
    on_{{.CPU}} do
      url "{{.URL}}"
      sha256 "{{.Sum}}"
    end
{{- end}}
  end
{{end}}
  def install
    bin.install "snowgrid", "snowgrid-serve"
    man1.install Dir["man/*.1"]
    ["snowgrid", "snowgrid-serve"].each do |program|
      bash_completion.install "completions/#{program}.bash" => program
      zsh_completion.install "completions/_#{program}"
      fish_completion.install "completions/#{program}.fish"
    end
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/snowgrid version")
  end
end
`))

type archive struct{ CPU, URL, Sum string }

type system struct {
	Name     string
	Archives []archive
}

// cpus has Homebrew's names for architectures. It has none for 32-bit ARM.
var cpus = map[string]string{"amd64": "intel", "arm64": "arm"}

// recipes writes a formula for Homebrew and a manifest for Scoop, over the archives.
func (r *release) recipes() error {
	var systems []system
	for _, t := range r.targets {
		name := map[string]string{"darwin": "macos", "linux": "linux"}[t.os]
		if name == "" || cpus[t.arch] == "" {
			continue
		}
		a, err := r.published(fmt.Sprintf("snowgrid_%s_%s_%s.tar.gz", r.number(), t.os, t.label()))
		if err != nil {
			return err
		}
		a.CPU = cpus[t.arch]
		i := slices.IndexFunc(systems, func(s system) bool { return s.Name == name })
		if i < 0 {
			i, systems = len(systems), append(systems, system{Name: name})
		}
		systems[i].Archives = append(systems[i].Archives, a)
	}
	err := r.write("snowgrid.rb", func(w io.Writer) error {
		return formula.Execute(w, map[string]any{"Summary": strings.TrimSuffix(summary, "."), "Homepage": homepage,
			"Version": r.number(), "Licence": licence, "Systems": systems})
	})
	if err != nil || !slices.ContainsFunc(r.targets, func(t target) bool { return t.os == "windows" }) {
		return err
	}
	base := fmt.Sprintf("snowgrid_%s_windows_amd64", r.number())
	a, err := r.published(base + ".zip")
	if err != nil {
		return err
	}
	return r.writeJSON("snowgrid.json", map[string]any{
		"version": r.number(), "description": summary, "homepage": homepage, "license": licence,
		"architecture": map[string]any{"64bit": map[string]any{"url": a.URL, "hash": a.Sum, "extract_dir": base}},
		"bin":          []string{"snowgrid.exe", "snowgrid-serve.exe"},
	})
}

// published returns a file's address on the release page, and its checksum.
func (r *release) published(name string) (archive, error) {
	sum, err := fileSum(filepath.Join(r.out, name))
	return archive{URL: homepage + "/releases/download/" + r.version + "/" + name, Sum: sum}, err
}
