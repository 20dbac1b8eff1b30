package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"syscall"
)

// Lookup returns every IP:port behind addr, a host:port or a bare host that
// gets defaultPort, sorted.
func Lookup(ctx context.Context, nw Network, addr string, defaultPort int) ([]string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		host, port = addr, strconv.Itoa(defaultPort)
	}
	ips, err := resolve(ctx, nw, host)
	if err != nil {
		return nil, fmt.Errorf("grid: cannot resolve %q: %w", addr, err)
	}
	addrs := make([]string, len(ips))
	for i, ip := range ips {
		addrs[i] = net.JoinHostPort(ip, port)
	}
	slices.Sort(addrs)
	return slices.Compact(addrs), nil
}

func resolve(ctx context.Context, nw Network, host string) ([]string, error) {
	if net.ParseIP(host) != nil {
		return []string{host}, nil
	}
	return ResolverOf(nw).LookupHost(ctx, host)
}

// Resolver resolves DNS names, for a Network that does so itself, and by the system for any
// other.
type Resolver struct{ network Network }

// ResolverOf returns the resolver of a Network.
func ResolverOf(nw Network) Resolver { return Resolver{nw} }

// LookupHost returns the IPs of a host.
func (r Resolver) LookupHost(ctx context.Context, host string) ([]string, error) {
	if own, ok := r.network.(hostResolver); ok {
		return own.LookupHost(ctx, host)
	}
	return net.DefaultResolver.LookupHost(ctx, host)
}

// LookupSRV returns the targets of a service, as net.Resolver does.
func (r Resolver) LookupSRV(ctx context.Context, service, proto, name string) (string, []*net.SRV, error) {
	if own, ok := r.network.(serviceResolver); ok {
		return own.LookupSRV(ctx, service, proto, name)
	}
	return net.DefaultResolver.LookupSRV(ctx, service, proto, name)
}

// bindAttempts bounds the search for a port that is free for streams and
// datagrams alike.
const bindAttempts = 16

func listenBoth(nw Network, bind string) (net.Listener, net.PacketConn, error) {
	host, port, err := net.SplitHostPort(bind)
	if err != nil {
		return nil, nil, fmt.Errorf("grid: the gossip address %q is not host:port: %w", bind, err)
	}
	for attempt := 1; ; attempt++ {
		ln, err := nw.Listen(bind)
		if err != nil {
			return nil, nil, err
		}
		_, chosen, err := net.SplitHostPort(ln.Addr().String())
		if err == nil {
			var socket net.PacketConn
			if socket, err = nw.ListenPacket(net.JoinHostPort(host, chosen)); err == nil {
				return ln, socket, nil
			}
		}
		_ = ln.Close()
		if port != "0" || attempt == bindAttempts || !errors.Is(err, syscall.EADDRINUSE) {
			return nil, nil, err
		}
	}
}

// Advertised picks the advertised address. memberlist passes on IPs, never names.
func Advertised(ctx context.Context, nw Network, bound, host string) (netip.AddrPort, error) {
	at, err := netip.ParseAddrPort(bound)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("grid: the listener's address %q is not IP:port: %w", bound, err)
	}
	ip := at.Addr().Unmap()
	switch {
	case host != "":
		addrs, err := resolve(ctx, nw, host)
		if err != nil {
			return netip.AddrPort{}, fmt.Errorf("grid: AdvertiseHost: cannot resolve %q: %w", host, err)
		}
		if ip, err = preferredIP(addrs); err != nil {
			return netip.AddrPort{}, fmt.Errorf("grid: AdvertiseHost %q: %w", host, err)
		}
	case ip.IsUnspecified():
		if ip, err = machineIP(); err != nil {
			return netip.AddrPort{}, err
		}
	}
	if ip.Is6() && ip.IsLinkLocalUnicast() {
		return netip.AddrPort{}, fmt.Errorf("grid: %v is a link-local address, which leads elsewhere on each "+
			"machine: listen on another one, or set AdvertiseHost (--advertise-host)", ip)
	}
	return netip.AddrPortFrom(ip, at.Port()), nil
}

func preferredIP(addrs []string) (netip.Addr, error) {
	var found netip.Addr
	for _, addr := range addrs {
		ip, err := netip.ParseAddr(addr)
		if err != nil {
			return netip.Addr{}, err
		}
		ip = ip.Unmap()
		if ip.Is4() {
			return ip, nil
		}
		if !found.IsValid() {
			found = ip
		}
	}
	if !found.IsValid() {
		return netip.Addr{}, errors.New("it has no address")
	}
	return found, nil
}

func machineIP() (netip.Addr, error) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return netip.Addr{}, fmt.Errorf("grid: cannot list this machine's addresses, set AdvertiseHost "+
			"(--advertise-host): %w", err)
	}
	var found netip.Addr
	for _, addr := range addrs {
		prefix, err := netip.ParsePrefix(addr.String())
		if err != nil || !prefix.Addr().IsGlobalUnicast() {
			continue
		}
		ip := prefix.Addr().Unmap()
		if ip.IsPrivate() {
			return ip, nil
		}
		if !found.IsValid() {
			found = ip
		}
	}
	if !found.IsValid() {
		return netip.Addr{}, errors.New("grid: this machine has no address that others can reach: set AdvertiseHost " +
			"(--advertise-host)")
	}
	return found, nil
}
