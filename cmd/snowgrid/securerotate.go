package main

import (
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/internal/authority"
)

// secureRotateCommand performs the steps of a rotation on a directory made by snowgrid secure init.
type secureRotateCommand struct {
	What string `arg:"" help:"What to replace: authority, certificates, tokens or gossip." enum:"authority,certificates,tokens,gossip"`
	directoryFlag
	Finish bool          `help:"End the rotation: remove the old credentials."`
	TTL    time.Duration `name:"ttl" help:"Time to live of the certificates. Default: as before." placeholder:"DURATION"`
}

// Validate refuses flags without effect.
func (c *secureRotateCommand) Validate() error {
	switch {
	case c.Finish && c.What == "certificates":
		return fmt.Errorf("--finish: certificate rotation has one step; omit it")
	case c.TTL != 0 && c.What != "certificates":
		return fmt.Errorf("--ttl: it applies only to certificates; omit it")
	case c.TTL < 0:
		return checkTTL(c.TTL)
	}
	return nil
}

func (c *secureRotateCommand) Run(to streams) error {
	dir, err := authority.Open(c.Dir)
	if err != nil {
		return err
	}
	text, err := c.step(dir)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(to.out, text+"\n", c.Dir)
	return err
}

// step does the step and describes it; %[1]s in the text is the directory.
func (c *secureRotateCommand) step(dir *authority.Directory) (text string, err error) {
	switch {
	case c.What == "authority" && c.Finish:
		return `%[1]s: only the new authority is trusted
Copy %[1]s/ca.crt to the directory of every process. A process whose certificate is of the earlier authority is
refused from then on.`, dir.FinishAuthority()
	case c.What == "authority":
		return `%[1]s: a new authority, trusted beside the earlier one, issues from now on
Copy %[1]s/ca.crt to the directory of every process: members, clients and commands. When all have it:
    snowgrid secure rotate certificates --dir %[1]s`, dir.RotateAuthority(time.Now())
	case c.What == "certificates":
		roles, err := dir.RotateCertificates(c.TTL, time.Now())
		return fmt.Sprintf(`%%[1]s: new certificates and keys of %s
Copy each ROLE.crt and ROLE.key to the processes that use them, and issue those of other directories again with
snowgrid secure issue. When all have theirs, and the authority is being replaced:
    snowgrid secure rotate authority --dir %%[1]s --finish`, listOf(roles, ", ")), err
	case c.What == "tokens" && c.Finish:
		return `%[1]s: only tokens of the newest key count
Copy %[1]s/tokens.pub to the directory of every member. Tokens of earlier keys are refused from then on.`,
			dir.FinishTokens()
	case c.What == "tokens":
		return `%[1]s: a new key signs tokens; those of the earlier one count as well
Copy %[1]s/tokens.pub to the directory of every member, and only then make tokens. When the callers have new
ones:
    snowgrid secure rotate tokens --dir %[1]s --finish`, dir.RotateTokens()
	case c.Finish:
		return `%[1]s: the earlier keys of the gossip are removed
Copy %[1]s/gossip.keys to the directory of every member.`, dir.FinishGossip()
	}
	step, err := dir.RotateGossip()
	if step == authority.GossipUsed {
		return `%[1]s: the new key of the gossip encrypts
Copy %[1]s/gossip.keys to the directory of every member. When all have it:
    snowgrid secure rotate gossip --dir %[1]s --finish`, err
	}
	return `%[1]s: a new key of the gossip, which does not encrypt yet
Copy %[1]s/gossip.keys to the directory of every member. When all have it (snowgrid keyring shows it):
    snowgrid secure rotate gossip --dir %[1]s`, err
}
