// Command release builds release files from a commit that .ci/release made: programs for each platform,
// packages, an image, the chart and recipes for package managers, with checksums, bills of materials and
// provenance. Two builds from one commit by one Go release have equal bytes.
package main

import (
	"fmt"
	"os"

	"github.com/alecthomas/kong"
)

type commands struct {
	Build  buildCommand  `cmd:"" help:"Build the files of a release into a directory."`
	Verify verifyCommand `cmd:"" help:"Check a directory of release files: checksums, signature, bills of materials."`
	Key    keyCommand    `cmd:"" help:"Make a key pair that signs the checksums."`
}

func main() {
	var c commands
	ctx := kong.Parse(&c, kong.Name("release"), kong.Description("Builds and checks the files of a snowgrid release."),
		kong.UsageOnError())
	if err := ctx.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}
