package openapi

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// direction distinguishes the schema of a request from the schema of a reply.
type direction int

const (
	reply direction = iota
	request
)

type form struct {
	of reflect.Type
	in direction
}

// schemas collects the schemas of the types in the calls.
type schemas struct {
	named object          // by name, in the document
	names map[form]string // of the schemas in named
	used  map[string]bool // keys of facts
	err   error           // the first one
}

func newSchemas() *schemas {
	return &schemas{named: object{}, names: map[form]string{}, used: map[string]bool{}}
}

// texts are the types whose text has a form.
var texts = map[reflect.Type]object{
	reflect.TypeFor[sequencer.ID]():    {"type": "string", "pattern": "^[0-9]+$"},
	reflect.TypeFor[numbers.Code]():    {"type": "string", "pattern": "^[0-9a-f]{32}$"},
	reflect.TypeFor[time.Time]():       {"type": "string", "format": "date-time"},
	reflect.TypeFor[json.RawMessage](): {"type": "object"},
}

var (
	jsonEncoder = reflect.TypeFor[json.Marshaler]()
	textEncoder = reflect.TypeFor[encoding.TextMarshaler]()
)

// of returns the schema of a type, for a struct a reference to it.
func (s *schemas) of(t reflect.Type, in direction) object {
	if text, has := texts[t]; has {
		return maps.Clone(text)
	}
	switch {
	case t.Implements(jsonEncoder):
		s.fail("openapi: %v encodes itself in JSON; add its form to texts", t)
	case t.Implements(textEncoder):
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem(), in)
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number", "format": "double"}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer", "format": "int64"}
	case reflect.Int8, reflect.Int16, reflect.Int32:
		return object{"type": "integer", "format": "int32"}
	case reflect.Uint, reflect.Uint64:
		return object{"type": "integer", "format": "uint64", "minimum": 0}
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return object{"type": "integer", "format": "int64", "minimum": 0}
	case reflect.Slice, reflect.Array:
		return object{"type": "array", "items": s.of(t.Elem(), in)}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem(), in)}
	case reflect.Struct:
		return object{"$ref": "#/components/schemas/" + s.name(t, in)}
	}
	s.fail("openapi: %v has no schema", t)
	return object{}
}

// name returns the name of a struct's schema, and adds the schema first if the document does not have it.
// A struct in requests and replies has two: unknown fields are refused in requests alone.
func (s *schemas) name(t reflect.Type, in direction) string {
	if name, has := s.names[form{t, in}]; has {
		return name
	}
	name := t.Name()
	if in == request && !strings.HasSuffix(name, "Request") {
		name += "Input"
	}
	if s.named[name] != nil { // of another package
		pkg := t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:]
		name = strings.ToUpper(pkg[:1]) + pkg[1:] + name
	}
	if s.named[name] != nil {
		s.fail("openapi: two types have the name %s; rename one", name)
	}
	schema := object{"type": "object"}
	s.names[form{t, in}], s.named[name] = name, schema
	properties, required := object{}, []string{}
	s.fields(t, in, func(name string, property object, needed bool) {
		if properties[name] = property; needed {
			required = append(required, name)
		}
	})
	schema["properties"] = properties
	if len(required) > 0 {
		schema["required"] = required
	}
	if in == request {
		schema["additionalProperties"] = false
	}
	if f, has := s.fact(t.Name()); has {
		schema["description"] = f.about
	}
	return name
}

// fields calls add for each public field of a struct, with its name in JSON and whether it is always there.
func (s *schemas) fields(t reflect.Type, in direction, add func(name string, property object, needed bool)) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" {
			if f, has := s.fact(field.Type.Name()); !has || !f.hidden {
				s.fields(field.Type, in, add)
			}
			continue
		}
		if !field.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = field.Name
		}
		f, _ := s.fact(t.Name() + "." + name)
		if f.hidden {
			continue
		}
		optional := strings.Contains(options, "omit")
		property := s.of(field.Type, in)
		switch {
		case in == request:
			property = f.bound(property)
		case !optional && !f.full && isNilable(field.Type):
			property = nullable(property)
		}
		if t == reflect.TypeFor[wire.Error]() && name == "code" {
			property["enum"], property["x-statuses"] = wire.Codes()
		}
		if f.about != "" {
			property["description"] = f.about
		}
		add(name, property, in == request && f.required || in == reply && !optional)
	}
}

// isNilable reports whether encoding/json writes null for a zero value of the type.
func isNilable(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map
}

// nullable returns the schema of a value that may be null.
func nullable(schema object) object {
	if kind, has := schema["type"]; has {
		schema["type"] = []any{kind, "null"}
		return schema
	}
	return object{"oneOf": []object{schema, {"type": "null"}}}
}

// fact returns the table's entry for a type or a field.
func (s *schemas) fact(key string) (fact, bool) {
	f, has := facts[key]
	s.used[key] = s.used[key] || has
	return f, has
}

// fail records an error.
func (s *schemas) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}
