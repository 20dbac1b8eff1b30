package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	modulePath = "github.com/snowgrid/snowgrid"
	homepage   = "https://github.com/snowgrid/snowgrid"
	summary    = "Unique, time-ordered 64-bit IDs from a grid of members"
	licence    = "Apache-2.0"
)

var versionForm = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$`)

type buildCommand struct {
	Repository string   `help:"The repository." default:".."`
	Version    string   `help:"The version; its tag names the commit to build." placeholder:"v1.2.3" required:""`
	Out        string   `help:"Directory for the files; it must not exist." default:"../dist"`
	Key        string   `help:"File with the private key that signs the checksums." type:"existingfile"`
	Only       []string `help:"Build only for these platforms, such as linux/amd64."`
}

type release struct {
	version string    // v1.2.3
	commit  string    // 40 hexadecimal digits
	time    time.Time // of the commit: the time of all files
	source  string    // a work tree of the commit
	out     string    // the directory of the files until all are there
	temp    string
	env     []string // of the go command
	targets []target

	digest string   // of the image's index, once made
	pages  []member // the manual and the completion scripts, once made
}

func (r *release) number() string { return strings.TrimPrefix(r.version, "v") }

func (c *buildCommand) Run() (err error) {
	r, end, err := c.begin()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"programs and archives", r.programs},
		{"packages", r.packages},
		{"image", r.image},
		{"chart", r.chart},
		{"recipes", r.recipes},
		{"bills of materials", r.materials},
		{"provenance", r.provenance},
		{"checksums", func() error { return r.checksums(c.Key) }},
	} {
		fmt.Println(step.what)
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	final, _ := strings.CutSuffix(r.out, partial)
	if err := os.Rename(r.out, final); err != nil {
		return err
	}
	fmt.Println("release", r.version, "is in", final)
	if c.Key == "" {
		fmt.Println("The checksums are not signed; give --key to sign them.")
	}
	return nil
}

// partial ends the directory name until the build is complete. The next build removes what an interrupted
// one left.
const partial = ".partial"

// begin checks the version and makes a work tree with its commit. end removes it, and a failed build's files.
func (c *buildCommand) begin() (r *release, end func() error, err error) {
	if !versionForm.MatchString(c.Version) {
		return nil, nil, fmt.Errorf("version %q: give one such as v1.2.3", c.Version)
	}
	r = &release{version: c.Version}
	if r.targets, err = selectTargets(c.Only); err != nil {
		return nil, nil, err
	}
	out, err := filepath.Abs(c.Out)
	if err != nil {
		return nil, nil, err
	}
	r.out = out + partial
	commit, err := output(c.Repository, "git", "rev-parse", "--verify", "refs/tags/"+c.Version+"^{commit}")
	if err != nil {
		return nil, nil, fmt.Errorf("version %s has no tag; make it with .ci/release %s: %w", c.Version, c.Version, err)
	}
	stamp, err := output(c.Repository, "git", "show", "-s", "--format=%ct", commit)
	if err != nil {
		return nil, nil, err
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return nil, nil, err
	}
	r.commit, r.time = commit, time.Unix(seconds, 0).UTC()
	if _, err := os.Lstat(out); !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("the directory of the files: %s exists; remove it, or name another one by --out", out)
	}
	if err := errors.Join(os.RemoveAll(r.out), os.Mkdir(r.out, 0o755)); err != nil {
		return nil, nil, fmt.Errorf("the directory of the files: %w", err)
	}
	if r.temp, err = os.MkdirTemp("", "release"); err != nil {
		return nil, nil, err
	}
	r.source = filepath.Join(r.temp, "source")
	end = func() error { return errors.Join(os.RemoveAll(r.temp), os.RemoveAll(r.out)) }
	if err := r.checkOut(c.Repository); err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return r, end, nil
}

// checkOut makes a clone with the commit's files.
func (r *release) checkOut(repository string) (err error) {
	if _, err := output(".", "git", "clone", "-q", "--no-checkout", repository, r.source); err != nil {
		return err
	}
	if _, err := output(r.source, "git", "-c", "advice.detachedHead=false", "checkout", "-q", r.commit); err != nil {
		return err
	}
	r.env, err = goEnvironment(r.temp, r.source)
	return err
}

// output runs a command and returns its output without the last newline.
func output(dir string, command ...string) (string, error) {
	c := exec.Command(command[0], command[1:]...)
	c.Dir, c.Stderr = dir, os.Stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(command, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
