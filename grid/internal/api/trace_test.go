package api

import (
	"fmt"
	"net/http"
	"testing"
)

// TestTraceContext: a request with several parents has none, and several states are one list.
func TestTraceContext(t *testing.T) {
	for want, header := range map[string]http.Header{
		"[]":                               {"Tracestate": {"a=1"}},
		"[traceparent=x]":                  {"Traceparent": {"x"}},
		"[traceparent=x tracestate=a=1,b]": {"Traceparent": {"x"}, "Tracestate": {"a=1", "b"}},
		"[] ":                              {"Traceparent": {"x", "y"}, "Tracestate": {"a=1"}},
	} {
		if got := fmt.Sprint(traceContext(header)); got != want && got+" " != want {
			t.Errorf("%v: %s, want %s", header, got, want)
		}
	}
}
