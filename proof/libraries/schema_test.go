package libraries

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3gen"
	"github.com/invopop/jsonschema"

	"github.com/snowgrid/snowgrid/sequencer"
)

// described is a type of an API.
type described struct {
	ID      sequencer.ID   `json:"id" jsonschema:"pattern=^[0-9]+$"`
	Missing *sequencer.ID  `json:"missing"`
	Items   []sequencer.ID `json:"items"`
}

// TestJSONSchema: IDs are texts in JSON, and so they are in schemas.
func TestJSONSchema(t *testing.T) {
	s := (&jsonschema.Reflector{DoNotReference: true, Anonymous: true}).Reflect(&described{})
	id, _ := s.Properties.Get("id")
	missing, _ := s.Properties.Get("missing")
	items, _ := s.Properties.Get("items")
	if id.Type != "string" || id.Pattern != "^[0-9]+$" || missing.Type != "string" || items.Items.Type != "string" {
		text, _ := json.Marshal(s)
		t.Errorf("%s", text)
	}
}

// asText is for openapi3gen.SchemaCustomizer, since kin-openapi asks types by an interface
// of its own only: IDs are texts.
func asText(_ string, of reflect.Type, _ reflect.StructTag, schema *openapi3.Schema) error {
	if of == reflect.TypeFor[sequencer.ID]() {
		schema.Type, schema.Format, schema.Pattern = &openapi3.Types{"string"}, "", "^[0-9]{1,19}$"
		schema.Min, schema.Max = nil, nil
	}
	return nil
}

func TestOpenAPI(t *testing.T) {
	ref, err := openapi3gen.NewSchemaRefForValue(&described{}, nil, openapi3gen.SchemaCustomizer(asText))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"id", "missing"} {
		if s := ref.Value.Properties[name].Value; !s.Type.Is("string") || s.Pattern != "^[0-9]{1,19}$" || s.Format != "" {
			text, _ := json.Marshal(s)
			t.Errorf("%s: %s", name, text)
		}
	}
}
