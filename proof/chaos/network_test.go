//go:build linux

package chaos

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/snowgrid/snowgrid/internal/long"
)

// network is a bridge in a network namespace of its own, with one namespace per
// process hung on it. Faults are put on the bridge's side of a process's line,
// where neither end notices anything but silence.
type network struct {
	ns string // the bridge's namespace

	mu    sync.Mutex
	ends  []*end // guarded by mu
	rules []rule // guarded by mu
}

// end is a process's place on the network.
type end struct {
	ns   string // namespace of the process; its interface is eth0
	port string // the interface at the bridge
	ip   netip.Addr
}

// direction is a packet's, as the process sees it.
type direction string

const (
	out direction = "ingress" // from the process: it comes into the bridge
	in  direction = "egress"  // to the process
)

// rule drops packets on one end's line.
type rule struct {
	at    *end
	way   direction
	peer  *end    // nil = every other
	share float64 // of the packets; 1 = all
}

// newNetwork makes the bridge, and takes everything away at the end of the test.
// Where this system does not allow it, it skips the test and says why.
func newNetwork(t *testing.T) *network {
	t.Helper()
	long.Only(t, "it needs root, and makes network namespaces")
	if os.Getuid() != 0 {
		refuse(t, "chaos needs root: it makes network namespaces")
	}
	for _, tool := range []string{"ip", "tc"} {
		if _, err := exec.LookPath(tool); err != nil {
			refuse(t, "chaos needs the command %s of iproute2: %v", tool, err)
		}
	}
	sweep(t)
	n := &network{ns: fmt.Sprintf("chaos%d-b%d", os.Getpid(), networks.next())}
	if err := do("ip", "netns", "add", n.ns); err != nil {
		refuse(t, "chaos needs network namespaces, and this system refuses them: %v", err)
	}
	t.Cleanup(func() { n.remove(t) })
	if err := batch("ip", n.ns, "link add name bridge type bridge", "link set dev bridge up"); err != nil {
		refuse(t, "chaos needs a bridge, and this system refuses it: %v", err)
	}
	return n
}

// refuse skips a test that this system cannot run. Where the full measure was asked
// for, that is a failure.
func refuse(t *testing.T, format string, args ...any) {
	t.Helper()
	if *faultsMin > 1 {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// networks counts the networks of this process, so that each has names of its own.
var networks counter

type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) next() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return c.n
}

// add hangs a namespace on the bridge and makes sure that faults can be put there.
func (n *network) add(t *testing.T, port string) *end {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	number := len(n.ends) + 1
	e := &end{ns: n.ns + "-" + port, port: port, ip: netip.AddrFrom4([4]byte{10, 213, 0, byte(number)})}
	if err := do("ip", "netns", "add", e.ns); err != nil {
		t.Fatal(err)
	}
	n.ends = append(n.ends, e)
	if err := batch("ip", n.ns,
		fmt.Sprintf("link add name %s type veth peer name eth0 netns %s", port, e.ns),
		fmt.Sprintf("link set dev %s master bridge up", port)); err != nil {
		refuse(t, "chaos needs veth interfaces, and this system refuses them: %v", err)
	}
	if err := batch("ip", e.ns,
		fmt.Sprintf("addr add %s/24 dev eth0", e.ip), "link set dev eth0 up", "link set dev lo up"); err != nil {
		t.Fatal(err)
	}
	err := do("tc", "-n", n.ns, "qdisc", "add", "dev", port, "clsact")
	if err == nil {
		err = n.apply(e)
	}
	if err != nil {
		refuse(t, "chaos drops packets with a clsact queue and bpf filters, and this system refuses them: %v", err)
	}
	return e
}

// drop puts rules into force; heal takes them out.
func (n *network) drop(rules ...rule) (heal func() error, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rules = append(n.rules, rules...)
	return func() error {
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, r := range rules {
			i := slices.Index(n.rules, r)
			n.rules = slices.Delete(n.rules, i, i+1)
		}
		return n.applyTo(rules)
	}, n.applyTo(rules)
}

func (n *network) applyTo(rules []rule) error {
	done := map[*end]bool{}
	var all []error
	for _, r := range rules {
		if !done[r.at] {
			done[r.at] = true
			all = append(all, n.apply(r.at))
		}
	}
	return errors.Join(all...)
}

// apply loads an end's filters, one for each direction. n.mu is held.
func (n *network) apply(e *end) error {
	var all []error
	for _, way := range []direction{in, out} {
		var here []rule
		for _, r := range n.rules {
			if r.at == e && r.way == way {
				here = append(here, r)
			}
		}
		all = append(all, do("tc", "-n", n.ns, "filter", "replace", "dev", e.port, string(way),
			"prio", "1", "handle", "1", "bpf", "da", "bytecode", bytecode(here)))
	}
	return errors.Join(all...)
}

// bytecode is the classic BPF program that drops the IPv4 frames selected by the rules;
// address resolution passes.
func bytecode(rules []rule) string {
	const (
		load16, load32, jumpEqual, jumpAtLeast, end = 40, 32, 21, 53, 6
		etherType, source, target, random           = 12, 26, 30, 0xfffff038
		ipv4, pass, shot                            = 0x800, 0, 2
	)
	program := [][4]uint32{{load16, 0, 0, etherType}, {jumpEqual, 1, 0, ipv4}, {end, 0, 0, pass}}
	for _, r := range rules {
		action := [][4]uint32{{end, 0, 0, shot}}
		if r.share < 1 {
			limit := uint32(r.share * (1 << 32))
			action = append([][4]uint32{{load32, 0, 0, random}, {jumpAtLeast, 1, 0, limit}}, action...)
		}
		if r.peer != nil {
			field := uint32(source)
			if r.way == out {
				field = target
			}
			ip := r.peer.ip.As4()
			address := uint32(ip[0])<<24 | uint32(ip[1])<<16 | uint32(ip[2])<<8 | uint32(ip[3])
			program = append(program, [4]uint32{load32, 0, 0, field}, [4]uint32{jumpEqual, 0, uint32(len(action)), address})
		}
		program = append(program, action...)
	}
	program = append(program, [4]uint32{end, 0, 0, pass})
	text := []string{strconv.Itoa(len(program))}
	for _, i := range program {
		text = append(text, fmt.Sprintf("%d %d %d %d", i[0], i[1], i[2], i[3]))
	}
	return strings.Join(text, ",")
}

// slow makes an end's line narrow in both directions: packets queue for up to a
// second, and are dropped when the queue would be longer.
func (n *network) slow(e *end, bits int) (heal func() error, err error) {
	line := []string{"root", "tbf", "rate", strconv.Itoa(bits) + "bit", "burst", "2000", "latency", "1s"}
	sides := [][]string{{n.ns, e.port}, {e.ns, "eth0"}}
	for _, side := range sides {
		err = errors.Join(err, do("tc", append([]string{"-n", side[0], "qdisc", "add", "dev", side[1]}, line...)...))
	}
	return func() error {
		var all []error
		for _, side := range sides {
			all = append(all, do("tc", "-n", side[0], "qdisc", "del", "dev", side[1], "root"))
		}
		return errors.Join(all...)
	}, err
}

// unplug takes an end's line down.
func (n *network) unplug(e *end) (heal func() error, err error) {
	set := func(state string) error { return do("ip", "-n", n.ns, "link", "set", "dev", e.port, state) }
	return func() error { return set("up") }, set("down")
}

// remove deletes every namespace, and with them all interfaces.
func (n *network) remove(t *testing.T) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.ends {
		if err := do("ip", "netns", "del", e.ns); err != nil {
			t.Error(err)
		}
	}
	if err := do("ip", "netns", "del", n.ns); err != nil {
		t.Error(err)
	}
}

// sweep deletes namespaces of test processes that were killed before they could.
func sweep(t *testing.T) {
	const dir = "/var/run/netns"
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, entry := range entries {
		match := regexp.MustCompile(`^chaos(\d+)-`).FindStringSubmatch(entry.Name())
		if match == nil {
			continue
		}
		if _, err := os.Stat(filepath.Join("/proc", match[1])); errors.Is(err, fs.ErrNotExist) {
			t.Logf("deleting namespace %s of an earlier run", entry.Name())
			_ = do("ip", "netns", "del", entry.Name())
		}
	}
}

// do runs a command.
func do(name string, args ...string) error {
	text, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(text)))
	}
	return nil
}

// batch runs lines of a command in a namespace.
func batch(name, ns string, lines ...string) error {
	cmd := exec.Command(name, "-n", ns, "-batch", "-")
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s -n %s %q: %w: %s", name, ns, lines, err, strings.TrimSpace(string(text)))
	}
	return nil
}
