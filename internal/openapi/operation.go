package openapi

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// operation is a call of the API.
type operation struct {
	method, path, id, tag, summary string
	// query are the fields of queried that the call takes as parameters.
	query   []string
	queried reflect.Type
	// flag is a parameter without a type in package wire.
	flag, flagAbout string
	// in is the type of the body, nil for none.
	in reflect.Type
	// bodyless means that the body may be omitted.
	bodyless bool
	// cached means that the reply has an ETag.
	cached  bool
	replies []answer
}

// answer is a reply other than an error.
type answer struct {
	status int
	about  string
	text   bool           // also, or only, as a line of text
	of     []reflect.Type // one of these types; nil: text alone
}

// ok returns the replies of a call that answers with a T.
func ok[T any](about string) []answer {
	return []answer{{status: http.StatusOK, about: about, of: []reflect.Type{reflect.TypeFor[T]()}}}
}

// document returns the call's part of the document.
func (op operation) document(s *schemas, cfg Config) object {
	out := object{"operationId": op.id, "tags": []string{op.tag}, "summary": op.summary}
	role := ""
	if cfg.Role != nil {
		role = cfg.Role(op.method, op.path)
	}
	if role == "" {
		out["security"] = []object{}
		out["description"] = "Callers need no identity."
	} else {
		out["description"] = fmt.Sprintf("Callers need the role %s or a higher one.", role)
	}
	if parameters := op.parameters(s); len(parameters) > 0 {
		out["parameters"] = parameters
	}
	if op.in != nil {
		out["requestBody"] = object{"required": !op.bodyless, "content": content(s.of(op.in, request), wire.JSON)}
	}
	responses := object{"default": object{"$ref": "#/components/responses/Error"}}
	for _, a := range op.replies {
		responses[strconv.Itoa(a.status)] = a.document(s, op.cached)
	}
	if op.cached {
		responses[strconv.Itoa(http.StatusNotModified)] = object{"description": "The caller has this document."}
	}
	out["responses"] = responses
	return out
}

// document returns a reply's part of the document.
func (a answer) document(s *schemas, cached bool) object {
	kinds := object{}
	if a.text {
		kinds["text/plain"] = object{"schema": object{"type": "string"}}
	}
	var forms []object
	for _, t := range a.of {
		forms = append(forms, s.of(t, reply))
	}
	switch {
	case len(forms) == 1:
		kinds[wire.JSON] = object{"schema": forms[0]}
	case len(forms) > 1:
		kinds[wire.JSON] = object{"schema": object{"oneOf": forms}}
	}
	out := object{"description": a.about, "content": kinds}
	if cached {
		out["headers"] = object{"ETag": object{"schema": object{"type": "string"}}}
	}
	return out
}

// parameters returns the call's parameters: fields of a request in the query, and headers.
func (op operation) parameters(s *schemas) (out []object) {
	if op.queried != nil {
		s.fields(op.queried, request, func(name string, property object, needed bool) {
			if !slices.Contains(op.query, name) {
				return
			}
			about := property["description"]
			delete(property, "description")
			parameter := object{"name": name, "in": "query", "required": needed, "schema": property}
			if about != nil {
				parameter["description"] = about
			}
			out = append(out, parameter)
		})
	}
	if op.flag != "" {
		out = append(out, object{"name": op.flag, "in": "query", "description": op.flagAbout,
			"schema": object{"type": "boolean"}})
	}
	if op.cached {
		out = append(out, object{"name": "If-None-Match", "in": "header", "description": "The ETag of an earlier answer.",
			"schema": object{"type": "string"}})
	}
	if op.in != nil && strings.HasPrefix(op.path, "/v1/") {
		out = append(out, object{"name": wire.HeaderTimeout, "in": "header",
			"description": "The caller's time limit in milliseconds: a member drops a request that waited longer.",
			"schema":      object{"type": "integer", "format": "int64", "minimum": 1}})
	}
	return out
}
