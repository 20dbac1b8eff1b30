package main

import (
	"bytes"
	"runtime/debug"
	"strings"
	"testing"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// TestCompareModules: a bill that differs from its program in any field is refused.
func TestCompareModules(t *testing.T) {
	info := &debug.BuildInfo{GoVersion: "go1.26.8",
		Main: debug.Module{Path: "example.org/main", Version: "v0.1.0", Sum: "h1:main"},
		Deps: []*debug.Module{{Path: "example.org/a", Version: "v1.0.0", Sum: "h1:a"},
			{Path: "example.org/b", Version: "v1.1.0", Sum: "h1:b"}}}
	main, others := modulesOf(info)
	bom := cyclonedx.NewBOM()
	bom.Metadata, bom.Components = &cyclonedx.Metadata{Component: &main}, &others
	var text bytes.Buffer
	if err := cyclonedx.NewBOMEncoder(&text, cyclonedx.BOMFileFormatJSON).Encode(bom); err != nil {
		t.Fatal(err)
	}
	check := func(text string) error {
		var bom cyclonedx.BOM
		if err := cyclonedx.NewBOMDecoder(strings.NewReader(text), cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
			t.Fatal(err)
		}
		return compareModules(&bom, info)
	}
	if err := check(text.String()); err != nil {
		t.Errorf("the bill of the program itself: %v", err)
	}
	for old, changed := range map[string]string{
		"h1:a": "h1:x", "h1:main": "h1:x", "b@v1.1.0": "b@v1.2.0", "main@v0.1.0": "main@v0.2.0", "go1.26.8": "go1.26.7",
		`"version":"v0.1.0"`: `"version":"v0.2.0"`, `"name":"go:sum","value":"h1:b"`: `"name":"other","value":"h1:b"`,
	} {
		bill := strings.ReplaceAll(text.String(), old, changed)
		if bill == text.String() {
			t.Errorf("the bill has no %s: %s", old, bill)
		} else if err := check(bill); err == nil || !strings.Contains(err.Error(), "differ") {
			t.Errorf("a bill with %s in place of %s: %v", changed, old, err)
		}
	}
}
