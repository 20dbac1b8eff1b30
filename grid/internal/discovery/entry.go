package discovery

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/snowgrid/snowgrid/internal/spelling"
)

type entryKind int

const (
	addressEntry entryKind = iota // an IP and a port
	nameEntry                     // a DNS name and a port
	srvEntry                      // a name with SRV records
	fileEntry                     // a path
	lookupEntry                   // a function
)

// The prefixes of entries.
const (
	srvPrefix  = "srv:"
	filePrefix = "file:"
)

const nameMax = 253

type entry struct {
	kind entryKind
	text string // for an address IP:port, for others the input
	name string // the DNS name, or the path
	port string // for a name
}

// Check rejects entries that can never be resolved. The error names the entry and the remedy.
func Check(entries []string) error {
	if len(entries) > MaxEntries {
		return fmt.Errorf("has %d entries; give at most %d, or a file: or a DNS name with all members", len(entries),
			MaxEntries)
	}
	for _, text := range entries {
		if _, err := parse(text, 1); err != nil {
			return err
		}
	}
	return nil
}

func parse(text string, defaultPort int) (entry, error) {
	if name, srv := strings.CutPrefix(text, srvPrefix); srv {
		if err := checkSRV(name); err != nil {
			return entry{}, fmt.Errorf("address %.300q: %w", text, err)
		}
		return entry{kind: srvEntry, text: text, name: name}, nil
	}
	if path, file := strings.CutPrefix(text, filePrefix); file {
		if path == "" || strings.ContainsRune(path, 0) {
			return entry{}, fmt.Errorf("address %.300q: give file: and the path of a file with one address a line", text)
		}
		return entry{kind: fileEntry, text: text, name: path}, nil
	}
	return parseHost(text, defaultPort)
}

func parseHost(text string, defaultPort int) (entry, error) {
	host, port := text, strconv.Itoa(defaultPort)
	if h, p, err := net.SplitHostPort(text); err == nil {
		host, port = h, p
	} else if ip, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		host = ip.String()
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return entry{}, fmt.Errorf("address %.300q is not host:port: the port is %.20q; give 1 to 65535", text, port)
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return entry{kind: addressEntry, text: net.JoinHostPort(ip.Unmap().String(), port)}, nil
	}
	if err := checkName(host); err != nil {
		return entry{}, fmt.Errorf("address %.300q is not host:port or a host name: %w", text, err)
	}
	return entry{kind: nameEntry, text: text, name: host, port: port}, nil
}

// IsHost reports whether a text can be an IP or a DNS name.
func IsHost(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil || checkName(text) == nil
}

var numeric = regexp.MustCompile(`^[0-9]+(\.[0-9]+){3}$`)

func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("the host is empty; give an IP or a DNS name")
	case len(name) > nameMax:
		return fmt.Errorf("the host has %d bytes; a DNS name has at most %d", len(name), nameMax)
	case strings.ContainsAny(name, ":/ \t\r\n,[]{}@\\") || strings.ContainsRune(name, 0):
		return errors.New("give an IP or a DNS name and a port, srv:_NAME._tcp.DOMAIN, or file:PATH")
	case numeric.MatchString(name):
		return errors.New("an IPv4 address has four numbers from 0 to 255 without leading zeros; correct it")
	case spelling.Fault(name) != "":
		return fmt.Errorf("the host %s; leave it out", spelling.Fault(name))
	case strings.HasPrefix(name, "_"):
		return fmt.Errorf("that is the name of a service; give %s%s", srvPrefix, name)
	}
	return nil
}

func checkSRV(name string) error {
	parts := strings.SplitN(name, ".", 3)
	ok := len(parts) == 3 && len(parts[0]) > 1 && strings.HasPrefix(parts[0], "_") && len(parts[1]) > 1 &&
		strings.HasPrefix(parts[1], "_")
	if !ok || len(name) > nameMax || checkName(parts[2]) != nil {
		return errors.New("give srv:_NAME._tcp.DOMAIN, without a port: the records have it")
	}
	return nil
}
