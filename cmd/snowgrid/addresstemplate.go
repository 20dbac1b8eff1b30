package main

import (
	"fmt"
	"net"
	"strings"

	"github.com/hashicorp/go-sockaddr/template"
)

// expandAddr returns the host:port in a flag, in which {{ }} stands for a
// hashicorp/go-sockaddr template: {{ GetPrivateIP }}:7946 listens on this machine's private address.
func expandAddr(flag, value string) (string, error) {
	out, err := expandTemplate(flag, value)
	if err != nil || out == value {
		return out, err
	}
	host, _, err := net.SplitHostPort(out)
	switch {
	case err == nil && host == "":
		return "", noAddress(flag, value)
	case err != nil && strings.Count(out, ":") > 1:
		return "", fmt.Errorf("--%s=%s: the template gives %s, an IPv6 address; write [{{ ... }}]:PORT", flag, value, out)
	case err != nil:
		return "", fmt.Errorf("--%s=%s: the template gives %s, which is not host:port; write {{ ... }}:PORT", flag,
			value, out)
	}
	return out, nil
}

// expandHost is expandAddr for a flag that takes a host without a port.
func expandHost(flag, value string) (string, error) {
	out, err := expandTemplate(flag, value)
	if err == nil && out == "" && value != "" {
		return "", noAddress(flag, value)
	}
	return out, err
}

// expandTemplate executes the template in a value; a value without one is returned as it is.
func expandTemplate(flag, value string) (string, error) {
	if !strings.Contains(value, "{{") {
		return value, nil
	}
	out, err := template.Parse(value)
	if err != nil {
		return "",
			fmt.Errorf("--%s=%s: not a template of addresses: %w; see "+
				"https://pkg.go.dev/github.com/hashicorp/go-sockaddr/template", flag, value, err)
	}
	out = strings.TrimSpace(out)
	if len(strings.Fields(out)) > 1 || strings.Contains(out, ",") {
		return "", fmt.Errorf(
			"--%s=%s: the template gives several addresses, %q; restrict it to one, for instance by | limit 1", flag, value, out)
	}
	return out, nil
}

func noAddress(flag, value string) error {
	return fmt.Errorf("--%s=%s: no address of this machine matches the template; state the address, or use an interface "+
		"template, such as {{ GetInterfaceIP \"eth0\" }}", flag, value)
}
