package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/internal/token"
	"github.com/snowgrid/snowgrid/security"
)

// secureCommand has the commands that make certificates, keys and tokens.
type secureCommand struct {
	Init  secureInitCommand  `cmd:"" help:"Make a directory with an authority, a certificate of each role, and keys."`
	Issue secureIssueCommand `cmd:"" help:"Make a directory with a certificate for one process."`
	Token secureTokenCommand `cmd:"" help:"Print a token, for callers of the API without a certificate."`

	Pack   securePackCommand   `cmd:"" help:"Print the directory of one process as one value, for a secret store."`
	Unpack secureUnpackCommand `cmd:"" help:"Write the directory that such a value has."`

	Show   secureShowCommand   `cmd:"" help:"Show the certificates and keys of a directory."`
	Rotate secureRotateCommand `cmd:"" help:"Replace the authority, certificates or keys, step by step."`
}

// directoryFlag names the directory that snowgrid secure init made.
type directoryFlag struct {
	Dir string `required:"" help:"Directory that snowgrid secure init made." placeholder:"DIR"`
}

type secureInitCommand struct {
	Out  string        `required:"" help:"Directory to make. It must not exist, or be empty." placeholder:"DIR"`
	Host []string      `help:"DNS names and IP addresses of members, for curl and browsers. Members, clients and commands do not need them." placeholder:"HOST"`
	Grid string        `help:"Name of the grid, that of the agents' --name: others refuse the certificates and tokens." default:"snowgrid"`
	Name string        `help:"Name of the authority, for people." default:"snowgrid"`
	TTL  time.Duration `name:"ttl" help:"Time to live of the certificates." default:"8760h"`
}

// checkOut and checkTTL refuse a directory without a name, and a credential that ends before it begins. The commands
// call them when they run: kong calls Validate before it looks for missing flags, which have no value then.
func checkOut(dir string) error {
	if dir == "" {
		return usage(errors.New(`--out="": give a directory, such as security`))
	}
	return nil
}

func checkTTL(ttl time.Duration) error {
	if ttl <= 0 {
		return usage(fmt.Errorf("--ttl=%v: give a duration above 0, such as 24h", ttl))
	}
	return nil
}

func (c *secureInitCommand) Run(to streams) error {
	if err := cmp.Or(checkOut(c.Out), checkTTL(c.TTL)); err != nil {
		return err
	}
	if err := authority.Create(c.Out, authority.Options{Grid: c.Grid, Name: c.Name, Hosts: c.Host, TTL: c.TTL},
		time.Now()); err != nil {
		return err
	}
	member := filepath.Join(filepath.Dir(filepath.Clean(c.Out)), "m1-security")
	_, err := fmt.Fprintf(to.out, `made %[1]s for the grid %[3]q: an authority, certificates of member, admin, holder and reader, a gossip key and a key for tokens

On this machine:
    snowgrid agent --security-dir %[1]s --expect 1 --data-dir ./data
    snowgrid status --security-dir %[1]s
For a member on another machine, and likewise for --role holder, admin or reader:
    snowgrid secure issue --dir %[1]s --role member --for m1 --out %[2]s

Keep ca.key and tokens.key off every server: they are all it takes to make any certificate and any token.
`, c.Out, member, c.Grid)
	return err
}

type secureIssueCommand struct {
	directoryFlag
	Role  string        `required:"" help:"Role of the process: member, admin, holder or reader." enum:"member,admin,holder,reader"`
	For   string        `required:"" help:"Name of the process, for people: logs and the audit show it." placeholder:"NAME"`
	Names patternList   `help:"Patterns of the sequencers and identity sets that a holder or reader may use, such as orders-*. Default: all." placeholder:"PATTERN,..."`
	Host  []string      `help:"DNS names and IP addresses of the member, for curl and browsers." placeholder:"HOST"`
	TTL   time.Duration `name:"ttl" help:"Time to live of the certificate." default:"8760h"`
	Out   string        `required:"" help:"Directory to make. It must not exist, or be empty." placeholder:"DIR"`
}

func (c *secureIssueCommand) Run(to streams) error {
	if err := cmp.Or(checkOut(c.Out), checkTTL(c.TTL)); err != nil {
		return err
	}
	dir, err := authority.Open(c.Dir)
	if err != nil {
		return err
	}
	r := authority.Request{Name: c.For, Role: security.Role(c.Role), Names: c.Names, Hosts: c.Host, TTL: c.TTL}
	if err := dir.Issue(r, c.Out, time.Now()); err != nil {
		return err
	}
	use := "client.Config{Security: &security.Config{Dir: " + fmt.Sprintf("%q", c.Out) +
		"}}, or snowgrid next NAME --security-dir " + c.Out
	switch r.Role {
	case security.Member:
		use = "snowgrid agent --security-dir " + c.Out
	case security.Admin, security.Reader:
		use = "snowgrid status --security-dir " + c.Out
	}
	limited := ""
	if len(c.Names) > 0 {
		limited = ", for sequencers " + listOf(c.Names, " ")
	}
	_, err = fmt.Fprintf(to.out,
		"made %s: a certificate with the role %s for %q%s\nCopy it to the process, readable only by its user, and use it: "+
			"%s\n", c.Out, c.Role, c.For, limited, use)
	return err
}

type secureTokenCommand struct {
	directoryFlag
	Role  string        `required:"" help:"Role of the caller: reader, holder or admin." enum:"reader,holder,admin"`
	For   string        `required:"" help:"Name of the caller, for people: logs and the audit show it." placeholder:"NAME"`
	Names patternList   `help:"Patterns of the sequencers and identity sets that a holder or reader may use, such as orders-*. Default: all." placeholder:"PATTERN,..."`
	TTL   time.Duration `name:"ttl" required:"" help:"Time to live, at most 2160h: nothing takes a token back before it ends, but a new key for all (snowgrid secure rotate tokens)." placeholder:"DURATION"`
}

func (c *secureTokenCommand) Run(to streams) error {
	if err := checkTTL(c.TTL); err != nil {
		return err
	}
	signer, err := token.LoadSigner(filepath.Join(c.Dir, security.TokensKeyFile))
	if err != nil {
		return err
	}
	of, err := authority.Grid(c.Dir)
	if err != nil {
		return err
	}
	text, err := signer.Sign(token.Request{Name: c.For, Role: security.Role(c.Role), Names: c.Names, TTL: c.TTL,
		Grid: of}, time.Now())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(to.out, text)
	return err
}
