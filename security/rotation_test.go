package security_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/security"
)

// issuing makes a directory as snowgrid secure init does.
func issuing(t *testing.T) (string, *authority.Directory) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "security")
	if err := authority.Create(path, authority.Options{Hosts: []string{"ids.example.org", "10.0.0.1"}},
		time.Now()); err != nil {
		t.Fatal(err)
	}
	dir, err := authority.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, dir
}

// issue makes a directory for a holder.
func issue(t *testing.T, dir *authority.Directory, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := dir.Issue(authority.Request{Name: name, Role: security.Holder}, path, time.Now()); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRotationOfTheAuthority: through every step of a rotation, processes that have and have
// not got the files of the step accept each other; after the last one the earlier authority
// counts no longer.
func TestRotationOfTheAuthority(t *testing.T) {
	path, dir := issuing(t)
	old := issue(t, dir, "old")
	member := load(t, path, security.Member)
	accepted := func(step, holder string, want bool) {
		t.Helper()
		if _, err := member.Reload(); err != nil {
			t.Fatal(err)
		}
		_, serverErr, clientErr := meet(t, member.Server(), load(t, holder, security.Holder).Client("x:1"))
		if (serverErr == nil && clientErr == nil) != want {
			t.Errorf("%s: %s accepted: %v, %v", step, filepath.Base(holder), serverErr, clientErr)
		}
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	copyFile := func(name, to string) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(path, name))
		check(err)
		check(os.WriteFile(filepath.Join(to, name), text, 0o600))
	}
	accepted("before", old, true)
	check(dir.RotateAuthority(time.Now()))
	accepted("with a new authority that the holder does not know", old, true)
	if err := dir.RotateAuthority(time.Now()); err == nil || !strings.Contains(err.Error(), "--finish") {
		t.Errorf("a second rotation at the same time: %v", err)
	}
	if err := dir.FinishAuthority(); err == nil || !strings.Contains(err.Error(), "rotate certificates") {
		t.Errorf("finished with certificates of the earlier authority: %v", err)
	}
	copyFile(security.AuthorityFile, old)
	accepted("with a new authority that all know", old, true)
	if roles, err := dir.RotateCertificates(0, time.Now()); err != nil || len(roles) != 4 {
		t.Fatal(roles, err)
	}
	fresh := issue(t, dir, "fresh")
	accepted("with new certificates of members", old, true)
	accepted("with new certificates of members", fresh, true)
	check(dir.FinishAuthority())
	accepted("finished", old, false)
	accepted("finished", fresh, true)
	if err := dir.FinishAuthority(); err == nil {
		t.Error("finished twice")
	}
	contents, err := authority.Inspect(path, time.Now())
	check(err)
	for _, c := range contents.Certificates {
		if len(c.Warnings) > 0 || c.Role == security.Member && strings.Join(c.Hosts, " ") != "ids.example.org 10.0.0.1" ||
			time.Until(c.Ends) < 364*24*time.Hour {
			t.Errorf("after the rotation: %+v", c)
		}
	}
}

// TestInterruptedRotation: a rotation that ended before its last file was written begins again.
func TestInterruptedRotation(t *testing.T) {
	path, dir := issuing(t)
	key, err := os.ReadFile(filepath.Join(path, security.AuthorityKeyFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.RotateAuthority(time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, security.AuthorityKeyFile), key, 0o600); err != nil {
		t.Fatal(err)
	}
	if dir, err = authority.Open(path); err != nil {
		t.Fatal(err)
	}
	old := issue(t, dir, "old")
	if err := dir.RotateAuthority(time.Now()); err != nil {
		t.Fatal(err)
	}
	member := load(t, path, security.Member)
	if _, serverErr, clientErr := meet(t, member.Server(),
		load(t, old, security.Holder).Client("x:1")); serverErr != nil || clientErr != nil {
		t.Error(serverErr, clientErr)
	}
}

// TestRotationOfKeys: the earlier key of the gossip encrypts until the new one is known, and
// counts until the end; the same for tokens.
func TestRotationOfKeys(t *testing.T) {
	path, dir := issuing(t)
	keys := func() (out []string) {
		c, err := security.Load(security.Config{Dir: path}, security.Member)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range c.GossipKeys() {
			out = append(out, security.Fingerprint(key))
		}
		return out
	}
	first := keys()[0]
	if err := dir.FinishGossip(); err == nil {
		t.Error("finished before it began")
	}
	if step, err := dir.RotateGossip(); step != authority.GossipAdded || err != nil {
		t.Fatal(step, err)
	}
	if got := keys(); len(got) != 2 || got[0] != first {
		t.Fatalf("after the first step: %v", got)
	}
	next := keys()[1]
	if err := dir.FinishGossip(); err == nil {
		t.Error("finished before the new key encrypts")
	}
	if step, err := dir.RotateGossip(); step != authority.GossipUsed || err != nil {
		t.Fatal(step, err)
	}
	if got := keys(); len(got) != 2 || got[0] != next || got[1] != first {
		t.Fatalf("after the second step: %v", got)
	}
	if _, err := dir.RotateGossip(); err == nil {
		t.Error("a third step")
	}
	if err := dir.FinishGossip(); err != nil {
		t.Fatal(err)
	}
	if got := keys(); len(got) != 1 || got[0] != next {
		t.Fatalf("finished: %v", got)
	}

	ids := func() []string {
		text, err := os.ReadFile(filepath.Join(path, security.TokensFile))
		if err != nil {
			t.Fatal(err)
		}
		_, ids, err := security.ParseTokenKeys(text)
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
	token := ids()[0]
	if err := dir.FinishTokens(); err == nil {
		t.Error("finished before it began")
	}
	if err := dir.RotateTokens(); err != nil {
		t.Fatal(err)
	}
	if got := ids(); len(got) != 2 || got[1] != token {
		t.Fatalf("tokens: %v", got)
	}
	newest := ids()[0]
	if err := dir.FinishTokens(); err != nil {
		t.Fatal(err)
	}
	if got := ids(); len(got) != 1 || got[0] != newest {
		t.Fatalf("tokens, finished: %v", got)
	}
}

// TestInspectWarns: what would not work, or is not safe, is told with its file.
func TestInspectWarns(t *testing.T) {
	path, _ := issuing(t)
	other, _ := issuing(t)
	replaceBy := func(name, by string) {
		t.Helper()
		text, err := os.ReadFile(by)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	replaceBy("admin.crt", filepath.Join(other, "admin.crt"))
	replaceBy("reader.crt", filepath.Join(path, "holder.crt"))
	replaceBy("tokens.pub", filepath.Join(path, "tokens.key"))
	if err := os.Chmod(filepath.Join(path, "holder.key"), 0o640); err != nil {
		t.Fatal(err)
	}
	contents, err := authority.Inspect(path, time.Now().Add(360*24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(contents.Warnings, "\n")
	for _, c := range contents.Certificates {
		for _, w := range c.Warnings {
			all += "\n" + c.File + ": " + w
		}
	}
	for _, want := range []string{
		"admin.crt: no authority in ca.crt has issued it", "admin.crt: admin.key is not its key",
		"reader.crt: it states the role holder",
		"member.crt: it ends soon", "tokens.pub: PEM block 1", "other users may read holder.key",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no warning %q in\n%s", want, all)
		}
	}
	if strings.Join(contents.Issuing, " ") != "ca.key tokens.key" {
		t.Errorf("only for issuing: %v", contents.Issuing)
	}
}

// TestExplainOfARefusedMember: a caller's alert about a member's certificate has several causes, and none is stated
// as the one.
func TestExplainOfARefusedMember(t *testing.T) {
	path, dir := issuing(t)
	late := filepath.Join(t.TempDir(), "late")
	if err := dir.Issue(authority.Request{Name: "m1", Role: security.Member, TTL: time.Hour}, late,
		time.Now().Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	member, holder := load(t, late, security.Member), load(t, path, security.Holder)
	_, serverErr, clientErr := meet(t, member.Server(), holder.Client("x:1"))
	if said := security.Explain(clientErr); !strings.Contains(said, "the certificate of the other side is expired") {
		t.Errorf("the caller: %s", said)
	}
	want := "it is expired, for another host, or of an authority"
	if said := security.Explain(serverErr); !strings.Contains(said, want) {
		t.Errorf("the member: %s", said)
	}
}
