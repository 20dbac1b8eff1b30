package openapi

import (
	"reflect"
	"testing"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestEveryFactIsUsed: no entry is of a type or a field that was renamed or removed.
func TestEveryFactIsUsed(t *testing.T) {
	type Status struct{}
	s := newSchemas()
	for _, op := range operations(reflect.TypeFor[Status]()) {
		op.document(s, Config{})
	}
	s.of(reflect.TypeFor[wire.Error](), reply)
	for key := range facts {
		if !s.used[key] {
			t.Errorf("%s: no type or field has the name; correct or remove the entry", key)
		}
	}
}

// TestSchemaOfAnUnknownEncoder: a type with an encoder of its own has no form that reflection finds.
func TestSchemaOfAnUnknownEncoder(t *testing.T) {
	s := newSchemas()
	if s.of(reflect.TypeFor[odd](), reply); s.err == nil {
		t.Error("a type that encodes itself has a schema")
	}
	s = newSchemas()
	if s.of(reflect.TypeFor[chan int](), reply); s.err == nil {
		t.Error("a channel has a schema")
	}
}

// odd encodes itself.
type odd struct{}

func (odd) MarshalJSON() ([]byte, error) { return []byte("1"), nil }
