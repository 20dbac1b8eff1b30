// Package openapi builds the OpenAPI 3.1 document of the HTTP API from the types and limits in package wire.
//
// [Build] lists the calls for programs in any language. Calls between members, and the calls of Go clients,
// which change with a release, are not in the document. A field of a wire type is in the document by
// reflection, as encoding/json writes it; its description and its bounds are in the table facts.
//
// Requests refuse unknown fields, so their schemas do too. Replies may gain fields in later versions, so
// their schemas permit unknown ones, and state no bounds.
package openapi

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// Config describes the server that serves the document.
type Config struct {
	// Version is the server's build.
	Version string
	// Serves reports whether the server has a call; nil: it has all.
	Serves func(method, path string) bool
	// Role returns the least role of a call's callers, "" for none.
	Role func(method, path string) string
	// Tokens means that callers may show a token in place of a certificate.
	Tokens bool
	// Status is the type of the reply to GET /v1/status; nil if it is not served.
	Status reflect.Type
}

// object is a JSON object. Its keys are encoded in ascending order, so that a document has one encoding.
type object = map[string]any

// Names of the security schemes.
const (
	schemeToken       = "token"
	schemeCertificate = "certificate"
)

// intro describes the whole API.
const intro = `Each answer with an error is {"code":"...","message":"..."}: programs read the code. ` +
	`IDs are strings, since a number in JSON would lose digits. Times are Unix milliseconds unless a field has ` +
	`the format date-time. A server without security takes calls without a token and without a certificate.`

// Build returns the document in JSON. The same configuration results in the same bytes.
func Build(cfg Config) ([]byte, error) {
	s := newSchemas()
	paths := map[string]object{}
	for _, op := range operations(cfg.Status) {
		if cfg.Serves != nil && !cfg.Serves(op.method, op.path) {
			continue
		}
		if paths[op.path] == nil {
			paths[op.path] = object{}
		}
		paths[op.path][strings.ToLower(op.method)] = op.document(s, cfg)
	}
	failed := s.of(reflect.TypeFor[wire.Error](), reply)
	schemes := object{schemeCertificate: object{"type": "mutualTLS",
		"description": "A certificate made by snowgrid secure issue."}}
	security := []object{{schemeCertificate: []string{}}}
	if cfg.Tokens {
		schemes[schemeToken] = object{"type": "http", "scheme": "bearer", "bearerFormat": "JWT",
			"description": "A token made by snowgrid secure token."}
		security = slices.Insert(security, 0, object{schemeToken: []string{}})
	}
	document := object{
		"openapi": "3.1.0",
		"info": object{"title": "snowgrid", "version": cfg.Version, "summary": "Unique, time-ordered 64-bit IDs",
			"description": intro, "license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"}},
		"servers":  []object{{"url": "/", "description": "the server that sent this document"}},
		"security": security, "tags": tags, "paths": paths,
		"components": object{
			"securitySchemes": schemes, "schemas": s.named,
			"responses": object{"Error": object{
				"description": aboutErrors(),
				"headers": object{"Retry-After": object{"schema": object{"type": "integer"},
					"description": "Seconds until the same call may succeed."}},
				"content": content(failed, wire.JSON),
			}},
		},
	}
	if s.err != nil {
		return nil, s.err
	}
	data, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	return append(data, '\n'), nil
}

// aboutErrors describes the response to any error: each status with its codes. A response for each status would have
// generated clients in Go return a union of all from every call.
func aboutErrors() string {
	codes, statuses := map[int][]string{}, []int{}
	names, statusOf := wire.Codes()
	for _, name := range names {
		status := statusOf[name]
		if codes[status] == nil {
			statuses = append(statuses, status)
		}
		codes[status] = append(codes[status], name)
	}
	slices.Sort(statuses)
	out := "The call was refused, or it failed. The codes by status:"
	for _, status := range statuses {
		out += fmt.Sprintf(" %d %s;", status, strings.Join(codes[status], ", "))
	}
	return strings.TrimSuffix(out, ";") + "."
}

// Tag returns the ETag of a document.
func Tag(document []byte) string {
	sum := sha256.Sum256(document)
	return fmt.Sprintf("%q", fmt.Sprintf("%x", sum[:8]))
}

// content returns the content of a request or a reply, by media type.
func content(schema any, kinds ...string) object {
	out := object{}
	for _, kind := range kinds {
		out[kind] = object{"schema": schema}
	}
	return out
}
