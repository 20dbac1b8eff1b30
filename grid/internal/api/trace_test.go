package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestTraceContext: a request with several parents has none, and several states are one list.
func TestTraceContext(t *testing.T) {
	for want, header := range map[string]http.Header{
		"[]":                               {"Tracestate": {"a=1"}},
		"[traceparent=x]":                  {"Traceparent": {"x"}},
		"[traceparent=x tracestate=a=1,b]": {"Traceparent": {"x"}, "Tracestate": {"a=1", "b"}},
		"[]  ":                             {"Traceparent": {"x\xff"}},
		"[traceparent=x] ":                 {"Traceparent": {"x"}, "Tracestate": {strings.Repeat("a", 513)}},
		"[] ":                              {"Traceparent": {"x", "y"}, "Tracestate": {"a=1"}},
	} {
		if got := fmt.Sprint(traceContext(header)); got != strings.TrimRight(want, " ") {
			t.Errorf("%v: %s, want %s", header, got, want)
		}
	}
}
