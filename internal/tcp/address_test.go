package tcp_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/tcp"
)

func TestCheckAddr(t *testing.T) {
	for _, addr := range []string{"a:0", "a:1", ":7948", "127.0.0.1:65535", "127.0.0.1:07948", "[::1]:7948",
		"[fe80::1%eth0]:7948", "[::ffff:127.0.0.1]:1", "a_b.example:1", "bücher.example:1", "a.:1"} {
		if err := tcp.CheckAddr(addr); err != nil {
			t.Errorf("%q: %v", addr, err)
		}
	}
	for addr, want := range map[string]string{
		"":                     "not host:port",
		"::1":                  "not host:port",
		"fe80::1%eth0:7948":    "not host:port",
		"a:":                   `the port is ""`,
		"a:65536":              `the port is "65536"`,
		"a:http":               `the port is "http"`,
		"a:+80":                `the port is "+80"`,
		" a:80":                `the character ' '`,
		"a\n:80":               `the character '\n'`,
		"user@a:80":            `the character '@'`,
		"[http://a]:80":        `the character ':'`,
		"[::1%25lo]x:80":       "not host:port",
		"a%41:80":              `the character '%'`,
		"[fe80::1%a/b]:80":     `the character '/'`,
		"\xff:80":              "the character",
		"[fe80::1%eth0]:80/v1": `the port is "80/v1"`,
	} {
		if err := tcp.CheckAddr(addr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", addr, err, want)
		}
	}
}

// TestURL: an address that CheckAddr accepts makes a URL with this address as its host.
func TestURL(t *testing.T) {
	for _, addr := range []string{"a:1", "127.0.0.1:7948", "[::1]:7948", "[fe80::1%eth0]:7948", "[fe80::1%25]:1",
		"bücher.example:1", "a_b:1"} {
		text := tcp.URL("http", addr, "/v1/ids?name=a%20b")
		u, err := url.Parse(text)
		if err != nil || u.Host != addr || u.RequestURI() != "/v1/ids?name=a%20b" {
			t.Errorf("%q: %q is %+v, %v", addr, text, u, err)
		}
	}
}
