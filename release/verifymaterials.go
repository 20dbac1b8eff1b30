package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

const billSuffix = ".cdx.json"

// verifyMaterials compares each bill of materials with the program in the archive of its platform. It returns
// their number.
func verifyMaterials(dir string) (n int, err error) {
	names, err := filesOf(dir)
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		base, isBill := strings.CutSuffix(name, billSuffix)
		if !isBill {
			continue
		}
		if err := verifyBill(dir, base); err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		n++
	}
	if n == 0 {
		return 0, fmt.Errorf("no bill of materials is in %s", dir)
	}
	return n, nil
}

// verifyBill compares a bill, such as snowgrid-serve_1.2.3_linux_amd64, with its program.
func verifyBill(dir, base string) error {
	text, err := os.ReadFile(filepath.Join(dir, base+billSuffix))
	if err != nil {
		return err
	}
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(bytes.NewReader(text), cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		return err
	}
	if bom.Metadata == nil || bom.Metadata.Component == nil || bom.Components == nil {
		return errors.New("it names no program or no components")
	}
	hashes := bom.Metadata.Component.Hashes
	if hashes == nil || len(*hashes) != 1 {
		return errors.New("it has no checksum of its program")
	}
	name, platform, _ := strings.Cut(base, "_")
	program, err := fromArchive(filepath.Join(dir, "snowgrid_"+platform), name)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(program)
	if want := hex.EncodeToString(sum[:]); (*hashes)[0].Value != want {
		return fmt.Errorf("it is for another program: the one in the archive has the checksum %s", want)
	}
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return err
	}
	return compareModules(&bom, info)
}

// compareModules compares the modules in a bill, their versions and their checksums with those in a program.
func compareModules(bom *cyclonedx.BOM, info *debug.BuildInfo) error {
	main, others := modulesOf(info)
	if got, want := moduleText(*bom.Metadata.Component), moduleText(main); got != want {
		return fmt.Errorf("its main module %q differs from that of the program, %q", got, want)
	}
	var want, got []string
	for _, c := range others {
		want = append(want, moduleText(c))
	}
	for _, c := range *bom.Components {
		got = append(got, moduleText(c))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		return fmt.Errorf("its components %q differ from those of the program, %q", got, want)
	}
	return nil
}

// moduleText returns what a component says about a module: its references, its version and its checksum.
func moduleText(c cyclonedx.Component) string {
	text := c.PackageURL + " " + c.BOMRef + " " + c.Version
	if c.Properties != nil {
		for _, p := range *c.Properties {
			text += " " + p.Name + " " + p.Value
		}
	}
	return text
}

// fromArchive returns a program in an archive, whose name is given without its suffix.
func fromArchive(base, name string) ([]byte, error) {
	if data, err := os.ReadFile(base + ".zip"); err == nil {
		z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return nil, err
		}
		f, err := z.Open(filepath.Base(base) + "/" + name + ".exe")
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		return io.ReadAll(f)
	}
	f, err := os.Open(base + ".tar.gz")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	for in := tar.NewReader(z); ; {
		header, err := in.Next()
		if err != nil {
			return nil, fmt.Errorf("%s.tar.gz has no %s: %w", base, name, err)
		}
		if path.Base(header.Name) == name {
			return io.ReadAll(in)
		}
	}
}
