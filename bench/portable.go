package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// measurePortable measures the age of timestamps in a build without the cycle counter, by running
// this command in such a build.
func measurePortable(ctx context.Context, b *bench) error {
	if _, err := exec.LookPath("go"); err != nil {
		b.report.p("Not measured: go is not in PATH.\n")
		return nil
	}
	dir, err := os.MkdirTemp("", "portable")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	args := []string{"run", "-tags", "purego", ".", "-only", "staleness", "-out", dir}
	if *quick {
		args = append(args, "-quick")
	}
	if said, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, said)
	}
	text, err := os.ReadFile(filepath.Join(dir, "REPORT.md"))
	if err != nil {
		return err
	}
	b.report.p(`The same scenarios in a build with ` + "`-tags purego`" + `, as on processors whose counter is not supported.
Each call reads the system clock instead.

`)
	_, own, _ := strings.Cut(string(text), "## "+titleOf("staleness"))
	for line := range strings.Lines(own) {
		if strings.HasPrefix(line, "|") {
			b.report.body.WriteString(line)
		}
	}
	return nil
}
