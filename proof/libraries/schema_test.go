package libraries

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3gen"
	"github.com/invopop/jsonschema"

	"github.com/snowgrid/snowgrid/sequencer"
)

// described is a type of an API.
type described struct {
	ID    sequencer.ID   `json:"id"`
	After *sequencer.ID  `json:"after"`
	Items []sequencer.ID `json:"items"`
}

// The declarations up to TestJSONSchema are the snippets of docs/schemas.md.

// idPattern matches the text of an ID.
const idPattern = "^[0-9]{1,19}$"

type shipment struct {
	ID    sequencer.ID   `json:"id" jsonschema:"pattern=^[0-9]+$"`
	After *sequencer.ID  `json:"after" jsonschema:"pattern=^[0-9]+$"`
	Items []sequencer.ID `json:"items" jsonschema:"pattern=^[0-9]+$"`
}

// idText is for openapi3gen.SchemaCustomizer.
func idText(_ string, of reflect.Type, _ reflect.StructTag, s *openapi3.Schema) error {
	if of == reflect.TypeFor[sequencer.ID]() {
		*s = openapi3.Schema{Type: &openapi3.Types{"string"}, Pattern: idPattern}
	}
	return nil
}

// idAlias is for RegisterTypeAlias(reflect.TypeFor[sequencer.ID](), reflect.TypeFor[idAlias]()) of the registry.
type idAlias string

func (idAlias) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Pattern: idPattern}
}

// TestJSONSchema: IDs are texts in JSON, and so they are in schemas, with a pattern if a tag gives it.
func TestJSONSchema(t *testing.T) {
	for pattern, value := range map[string]any{"": &described{}, "^[0-9]+$": &shipment{}} {
		s := (&jsonschema.Reflector{DoNotReference: true, Anonymous: true}).Reflect(value)
		id, _ := s.Properties.Get("id")
		after, _ := s.Properties.Get("after")
		items, _ := s.Properties.Get("items")
		for _, got := range []*jsonschema.Schema{id, after, items.Items} {
			if got.Type != "string" || got.Pattern != pattern {
				t.Errorf("with the pattern %q: %s", pattern, inJSON(s))
			}
		}
	}
}

// TestOpenAPI: kin-openapi asks types by an interface of its own only, and describes an ID as an integer unless
// it is told otherwise.
func TestOpenAPI(t *testing.T) {
	for want, options := range map[string][]openapi3gen.Option{
		`"integer"`: nil, `"string"`: {openapi3gen.SchemaCustomizer(idText)},
	} {
		ref, err := openapi3gen.NewSchemaRefForValue(&described{}, nil, options...)
		if err != nil {
			t.Fatal(err)
		}
		s := ref.Value.Properties
		for _, got := range []*openapi3.Schema{s["id"].Value, s["after"].Value, s["items"].Value.Items.Value} {
			if inJSON(got.Type) != want || want == `"string"` && (got.Pattern != idPattern || got.Format != "") {
				t.Errorf("want %s: %s", want, inJSON(ref))
			}
		}
	}
}

// TestHuma: huma describes an ID as a string, since it is read from text; the alias adds the pattern, and a request is
// checked with it.
func TestHuma(t *testing.T) {
	for _, pattern := range []string{"", idPattern} {
		registry := huma.NewMapRegistry("#/", huma.DefaultSchemaNamer)
		if pattern != "" {
			registry.RegisterTypeAlias(reflect.TypeFor[sequencer.ID](), reflect.TypeFor[idAlias]())
		}
		s := huma.SchemaFromType(registry, reflect.TypeFor[described]())
		for _, got := range []*huma.Schema{s.Properties["id"], s.Properties["after"], s.Properties["items"].Items} {
			if got.Type != huma.TypeString || got.Pattern != pattern {
				t.Errorf("with the pattern %q: %s", pattern, inJSON(s))
			}
		}
		var result huma.ValidateResult
		huma.Validate(registry, s, huma.NewPathBuffer(nil, 0), huma.ModeWriteToServer,
			map[string]any{"id": "1e3", "after": "7", "items": []any{}}, &result)
		if refused := len(result.Errors) > 0; refused != (pattern != "") {
			t.Errorf("with the pattern %q a wrong ID gives %v", pattern, result.Errors)
		}
	}
}

func inJSON(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// TestSnippets: the snippets of the page are declarations of this file, which its tests use.
func TestSnippets(t *testing.T) {
	page, err := os.ReadFile("../../docs/schemas.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("schema_test.go")
	if err != nil {
		t.Fatal(err)
	}
	snippets := regexp.MustCompile("(?s)```go\n(.*?)\n```").FindAllStringSubmatch(string(page), -1)
	if len(snippets) != 4 {
		t.Errorf("%d snippets", len(snippets))
	}
	for _, snippet := range snippets {
		if !strings.Contains(string(source), "\n"+snippet[1]+"\n") {
			t.Errorf("schema_test.go does not have this snippet:\n%s", snippet[1])
		}
	}
}
