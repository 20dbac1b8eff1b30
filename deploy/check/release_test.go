package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// taken are the packages that users get by the go command. The path of the root module alone is none of them: its
// package imports nothing, so a get of it leaves out the sums of what the others need, and the next build fails.
var taken = []string{"/grid", "/client", "/client/store", "/sequencer", "/client/etcd", "/client/s3", "/client/sql",
	"/otel"}

// TestGetsInPages: pages name a package that TestReleaseCanBeTaken gets.
func TestGetsInPages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	get := regexp.MustCompile(`go get github\.com/snowgrid/snowgrid([^\s@` + "`" + `]*)`)
	found := 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range get.FindAllStringSubmatch(string(text), -1) {
			found++
			if !slices.Contains(taken, m[1]) {
				t.Errorf("%s: %s: want one of the packages %v", page, m[0], taken)
			}
		}
	}
	if found == 0 {
		t.Error("no page says how to get a package")
	}
}

// TestReleaseCanBeTaken: the go command takes each module of a release that .ci/release makes, from git alone. A
// program over each of an embedded member, etcd and SQL builds; both commands install, and have the version.
func TestReleaseCanBeTaken(t *testing.T) {
	const root, version = "github.com/snowgrid/snowgrid", "v0.1.0"
	temp := t.TempDir()
	repository := filepath.Join(temp, "repository")
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOPROXY", "file://"+strings.TrimSpace(string(cache))+"/cache/download") // what others made
	for key, value := range map[string]string{
		"GOMODCACHE": filepath.Join(temp, "modules"), "GOFLAGS": "-modcacherw", "GOPRIVATE": root, "GOWORK": "off",
		"GONOSUMDB":        "*",
		"GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "url.file://" + repository + ".insteadOf",
		"GIT_CONFIG_VALUE_0": "https://" + root, "GIT_CONFIG_KEY_1": "advice.detachedHead", "GIT_CONFIG_VALUE_1": "false",
		"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org",
		"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org",
	} {
		t.Setenv(key, value)
	}
	run := func(dir string, command ...string) { t.Helper(); runIn(t, dir, command...) }
	if err := exec.Command("git", "-C", "../..", "rev-parse", "HEAD").Run(); err != nil {
		t.Skipf("this is not a checkout: %v", err)
	}
	run(".", "git", "clone", "-q", "../..", repository)
	run(repository, filepath.Join(repository, ".ci", "release"), version)
	run(repository, "git", "diff", "--exit-code", "HEAD") // the branch is as it was
	for _, imported := range taken {
		user := t.TempDir()
		run(user, "go", "mod", "init", "example.org/user")
		run(user, "go", "get", root+imported+"@"+version)
		source := "package main\n\nimport _ \"" + root + imported + "\"\n\nfunc main() {}\n"
		if err := os.WriteFile(filepath.Join(user, "main.go"), []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		run(user, "go", "list", "-deps", ".")
	}
	t.Setenv("GOBIN", filepath.Join(temp, "bin"))
	for _, command := range []string{"snowgrid", "snowgrid-serve"} {
		run(temp, "go", "install", "-trimpath", root+"/cmd/"+command+"@"+version)
		if out := runIn(t, temp, filepath.Join(temp, "bin", command), "version"); !strings.Contains(out, version+"\n") {
			t.Errorf("%s version: %s", command, out)
		}
	}
	usePrograms(t, root, version)
	// A checkout of the tag has all checksums that its modules need.
	checkout := filepath.Join(temp, "checkout")
	run(temp, "git", "clone", "-q", "--branch", version, repository, checkout)
	for _, module := range []string{".", "client/etcd", "client/s3", "client/sql", "otel", "cmd/snowgrid-serve"} {
		run(filepath.Join(checkout, module), "go", "list", "-deps", "-test", "./...")
	}
	checkChanges(t, checkout, version)
}

// usePrograms builds a program over each of three modules, and runs two that need no server. Each gets one module
// of the release by the go command, and what else it imports.
func usePrograms(t *testing.T, root, version string) {
	t.Helper()
	for _, p := range []struct{ name, gets, driver string }{
		{"member", "/grid", ""}, {"sqlite", "/client/sql", "modernc.org/sqlite"},
		{"etcd", "/client/etcd", "go.etcd.io/etcd/client/v3"},
	} {
		user := t.TempDir()
		runIn(t, user, "go", "mod", "init", "example.org/"+p.name)
		runIn(t, user, "go", "get", root+p.gets+"@"+version)
		if p.driver != "" { // the version that the module requires
			runIn(t, user, "go", "get", p.driver)
		}
		source, err := os.ReadFile(filepath.Join("testdata", p.name+".go"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(user, "main.go"), source, 0o600); err != nil {
			t.Fatal(err)
		}
		program := filepath.Join(user, p.name)
		runIn(t, user, "go", "build", "-trimpath", "-o", program, ".")
		if out := runIn(t, user, "go", "version", "-m", program); !strings.Contains(out, "\t"+version+"\t") {
			t.Errorf("%s has another version: %s", p.name, out)
		}
		if p.name == "etcd" {
			continue // it needs a server
		}
		out := strings.TrimSpace(runIn(t, user, program, t.TempDir()))
		lines := strings.Split(out, "\n")
		if id, err := strconv.ParseInt(lines[len(lines)-1], 10, 64); err != nil || id <= 0 {
			t.Errorf("%s prints %s", p.name, out)
		}
	}
}

// runIn runs a command in a directory, and returns its output.
func runIn(t *testing.T, dir string, command ...string) string {
	t.Helper()
	c := exec.Command(command[0], command[1:]...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		if strings.Contains(string(out), "file:///") && strings.Contains(string(out), "no such file") {
			t.Skipf("a module is not in the cache: go mod download in each module: %s", out)
		}
		t.Fatalf("%s: %v: %s", strings.Join(command, " "), err, out)
	}
	return string(out)
}

// checkChanges: the changelog of a release names it, and has no heading of changes that were not released.
func checkChanges(t *testing.T, checkout, version string) {
	t.Helper()
	changes, err := os.ReadFile(filepath.Join(checkout, "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	heading := regexp.MustCompile(`(?m)^## (.*)$`).FindSubmatch(changes)
	if heading == nil || !regexp.MustCompile(`^`+regexp.QuoteMeta(version)+`, \d{4}-\d\d-\d\d$`).Match(heading[1]) {
		t.Errorf("the first heading of CHANGELOG.md is %q", heading)
	}
	// The first release has changed and fixed nothing of an earlier one.
	if past := regexp.MustCompile(`(?m)^### (Changed|Fixed)$`).Find(changes); past != nil && version == "v0.1.0" {
		t.Errorf("CHANGELOG.md of the first release has %q", past)
	}
	readme, err := os.ReadFile(filepath.Join(checkout, "README.md"))
	if err != nil || strings.Contains(string(readme), "No version has been tagged") {
		t.Errorf("README.md of a release denies it (%v)", err)
	}
}
