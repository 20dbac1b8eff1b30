// Package openapi proves the OpenAPI document of snowgrid: it is valid, clients that generators make of it in Go and
// TypeScript call every path of real agents, and each request and reply is as its schema states.
package openapi
