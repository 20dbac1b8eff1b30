package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// jsonFault returns a JSON decoder's error in JSON terms, for callers who do not write Go.
func jsonFault(err error) error {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("it is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it ends early")
	case errors.As(err, &syntax):
		return fmt.Errorf("%s, at byte %d", syntax.Error(), syntax.Offset)
	case errors.As(err, &kind):
		field := ""
		if kind.Field != "" {
			field = kind.Field + ": "
		}
		if strings.ContainsAny(kind.Value[:1], "ao") { // array, object
			kind.Value = "n " + kind.Value
		} else {
			kind.Value = " " + kind.Value
		}
		return fmt.Errorf("%sa%s where %s is expected", field, kind.Value, jsonKind(kind.Type))
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return jsonKind(t.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return fmt.Sprintf("a whole number of %d bits", t.Bits())
}
