package grid_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/membership"
	"github.com/snowgrid/snowgrid/internal/openapi"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// document is the part of an OpenAPI document that the tests read.
type document struct {
	Paths      map[string]map[string]json.RawMessage
	Security   []map[string][]string
	Components struct {
		Schemas         map[string]schema
		SecuritySchemes map[string]json.RawMessage
		Responses       map[string]struct{ Description string }
	}
}

type schema struct {
	Ref                  string            `json:"$ref"`
	Type                 any               `json:"type"`
	Required             []string          `json:"required"`
	Properties           map[string]schema `json:"properties"`
	Items                *schema           `json:"items"`
	OneOf                []schema          `json:"oneOf"`
	Enum                 []string          `json:"enum"`
	Statuses             map[string]int    `json:"x-statuses"`
	AdditionalProperties any               `json:"additionalProperties"`
	Maximum              int64             `json:"maximum"`
	MaxLength            int               `json:"maxLength"`
}

// build returns a member's document.
func build(t *testing.T) (out document, data []byte) {
	t.Helper()
	data, err := openapi.Build(openapi.Config{Version: "v1", Tokens: true, Status: reflect.TypeFor[grid.Status](),
		Role: func(string, string) string { return "reader" }})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out, data
}

// TestBuildReturnsTheSameBytes: the ETag of two members of one build is the same.
func TestBuildReturnsTheSameBytes(t *testing.T) {
	_, first := build(t)
	for range 5 {
		if _, data := build(t); !bytes.Equal(first, data) {
			t.Fatal("two documents of one configuration differ")
		}
	}
}

// TestSchemasAreAsEncoded: the properties of each type are the fields that encoding/json writes, all of them in
// a value with content, the required ones in an empty one.
func TestSchemasAreAsEncoded(t *testing.T) {
	d, _ := build(t)
	for name, value := range map[string]any{
		"IDsRequest": &wire.IDsRequest{}, "GrantRequest": &wire.GrantRequest{}, "GrantReleaseInput": &wire.GrantRelease{},
		"StatusRequest": &wire.StatusRequest{}, "DestroyRequest": &wire.DestroyRequest{},
		"SequencersRequest": &wire.SequencersRequest{}, "HoldersRequest": &wire.HoldersRequest{},
		"SettingsRequest": &wire.SettingsRequest{}, "IdentityNextRequest": &wire.IdentityNextRequest{},
		"IdentityApplyRequest":    &wire.IdentityApplyRequest{},
		"IdentityRegisterRequest": &wire.IdentityRegisterRequest{}, "IdentityCleanRequest": &wire.IdentityCleanRequest{},
		"IdentityDropRequest": &wire.IdentityDropRequest{}, "IdentityImportRequest": &wire.IdentityImportRequest{},
		"IdentityListRequest": &wire.IdentityListRequest{}, "NodeInput": &membership.Node{},

		"IDsResponse": &wire.IDsResponse{}, "GrantResponse": &wire.GrantResponse{}, "GrantReleased": &wire.GrantReleased{},
		"Status": &grid.Status{}, "SequencersResponse": &wire.SequencersResponse{},
		"HoldersResponse": &wire.HoldersResponse{}, "SettingsResponse": &wire.SettingsResponse{}, "Done": &wire.Done{},
		"SettledResponse": &wire.SettledResponse{}, "ReadyResponse": &wire.ReadyResponse{},
		"IndexResponse":        &wire.IndexResponse{},
		"IdentityNextResponse": &wire.IdentityNextResponse{}, "IdentityApplyResponse": &wire.IdentityApplyResponse{},
		"IdentityRegisterResponse": &wire.IdentityRegisterResponse{},
		"IdentityCleanResponse":    &wire.IdentityCleanResponse{}, "IdentityDropResponse": &wire.IdentityDropResponse{},
		"IdentityImportResponse": &wire.IdentityImportResponse{}, "IdentityListResponse": &wire.IdentityListResponse{},
		"Node": &membership.Node{}, "Subscribed": &membership.Subscribed{}, "Error": &wire.Error{},
	} {
		s, has := d.Components.Schemas[name]
		if !has {
			t.Errorf("the document has no %s", name)
			continue
		}
		input := strings.HasSuffix(name, "Request") || strings.HasSuffix(name, "Input")
		if input != (s.AdditionalProperties == false) {
			t.Errorf("%s: unknown fields: %v", name, s.AdditionalProperties)
		}
		if !input {
			encoded := encode(t, value)
			if keys := slices.Sorted(maps.Keys(encoded)); !slices.Equal(keys, slices.Sorted(slices.Values(s.Required))) {
				t.Errorf("%s: %v are required, and an empty one has %v", name, s.Required, keys)
			}
		}
		fillFields(reflect.ValueOf(value).Elem())
		d.compare(t, name, s, encode(t, value))
	}
}

// isInternal reports whether only members set a field of requests.
func isInternal(at, name string) bool {
	return strings.HasSuffix(at, "Request") && slices.Contains([]string{"asked_by", "forwarded", "caller"}, name) ||
		at == "SequencersRequest" && name == "names"
}

// compare reports properties that a value lacks, and fields that the schema lacks.
func (d document) compare(t *testing.T, at string, s schema, value any) {
	t.Helper()
	if s.Ref != "" {
		s = d.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	if len(s.OneOf) > 0 { // a text or an object
		d.compare(t, at, s.OneOf[len(s.OneOf)-1], value)
		return
	}
	switch value := value.(type) {
	case map[string]any:
		if s.Properties == nil {
			if s.AdditionalProperties == nil {
				t.Errorf("%s is %v, and has no properties: %+v", at, value, s)
			}
			return
		}
		for name, field := range value {
			property, has := s.Properties[name]
			if !has && !isInternal(at, name) {
				t.Errorf("%s.%s is not in the document", at, name)
			}
			if has {
				d.compare(t, at+"."+name, property, field)
			}
		}
		for name := range s.Properties {
			if _, has := value[name]; !has {
				t.Errorf("%s.%s is in the document, and no value has it", at, name)
			}
		}
	case []any:
		if s.Items == nil || len(value) == 0 {
			t.Fatalf("%s is a list of %d: %+v", at, len(value), s)
		}
		d.compare(t, at+"[]", *s.Items, value[0])
	default:
		kind := map[bool]string{true: "string"}[reflect.TypeOf(value).Kind() == reflect.String]
		switch value.(type) {
		case float64:
			kind = "integer number"
		case bool:
			kind = "boolean"
		}
		types, several := s.Type.([]any)
		if !several {
			types = []any{s.Type}
		}
		if text, _ := types[0].(string); !strings.Contains(kind, text) || text == "" {
			t.Errorf("%s is %v (%s), the document has %v", at, value, kind, s.Type)
		}
	}
}

// encode returns a value as a caller reads it.
func encode(t *testing.T, v any) (out map[string]any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// fillFields sets each field to a value that is not zero.
func fillFields(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillFields(v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1, 0)))
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fillFields(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillFields(v.Index(0))
	case reflect.Array:
		fillFields(v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fillFields(key)
		fillFields(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("a")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	default:
		panic(fmt.Sprint("a field of ", v.Type()))
	}
}

// TestErrorHasEveryCode: the enumeration is the table in package wire, and each code has the status there.
func TestErrorHasEveryCode(t *testing.T) {
	d, _ := build(t)
	names, statuses := wire.Codes()
	code := d.Components.Schemas["Error"].Properties["code"]
	if got := code.Enum; !slices.Equal(got, names) || len(names) < 30 {
		t.Errorf("the codes are %v, want %v", got, names)
	}
	if !maps.Equal(code.Statuses, statuses) {
		t.Errorf("the statuses are %v, want %v", code.Statuses, statuses)
	}
	text := d.Components.Responses["Error"].Description
	for _, part := range []string{" 400 epoch_exhausted, invalid_config, bad_request;", " 410 destroyed;",
		" 503 no_free_node, grant_expired, closed, overloaded, unavailable."} {
		if !strings.Contains(text, part) {
			t.Errorf("the response to errors is %q, want %q in it", text, part)
		}
	}
}

// TestBoundsAreTheServers: package sequencer has the same bounds as the document, where package wire has none.
func TestBoundsAreTheServers(t *testing.T) {
	d, _ := build(t)
	name := d.Components.Schemas["IDsRequest"].Properties["name"].MaxLength
	layout := d.Components.Schemas["LayoutInput"].Properties
	whole, err := sequencer.Define("x", sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if l := whole.Config().Layout; layout["bits"].Maximum != int64(l.Bits) || layout["nodes"].Maximum != int64(l.Nodes) ||
		d.Components.Schemas["IDsCreateInput"].Properties["nodes"].Maximum != int64(l.Nodes) {
		t.Errorf("the document has %+v, the whole layout is %v", layout, l)
	}
	low := int(layout["low_bits"].Maximum)
	for what, c := range map[string]struct {
		name    string
		lowBits int
		valid   bool
	}{
		"the longest name":  {strings.Repeat("x", name), 0, true},
		"a longer name":     {strings.Repeat("x", name+1), 0, false},
		"the most low bits": {"x", low, true},
		"more than these":   {"x", low + 1, false},
	} {
		cfg := sequencer.Config{}
		if c.lowBits > 0 {
			cfg.Layout = sequencer.Layout{Bits: 63, LowBits: c.lowBits, Nodes: 1024}
		}
		if _, err := sequencer.Define(c.name, cfg); (err == nil) != c.valid {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestBuildOfAPart: a server without the other calls and without tokens has a document of its own.
func TestBuildOfAPart(t *testing.T) {
	data, err := openapi.Build(openapi.Config{Version: "v1",
		Serves: func(method, path string) bool { return path == wire.PathIDs && method == "POST" }})
	var d document
	if err == nil {
		err = json.Unmarshal(data, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Paths) != 1 || len(d.Security) != 1 || len(d.Components.SecuritySchemes) != 1 ||
		d.Components.Schemas["Status"].Properties != nil {
		t.Errorf("%s", data)
	}
}
