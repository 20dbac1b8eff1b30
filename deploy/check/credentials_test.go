package check

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// securityDir is where every deployment has its credentials.
const securityDir = "/etc/snowgrid/security"

// memberFiles are the files of a member: no key that issues anything, and no other role's.
var memberFiles = []string{"ca.crt", "gossip.keys", "member.crt", "member.key", "tokens.pub"}

// credentials runs the commands of docs/deploy.md, and returns the directory of the
// authority and that of a member.
func credentials(t *testing.T) (all, member string) {
	t.Helper()
	dir := t.TempDir()
	all, member = filepath.Join(dir, "security"), filepath.Join(dir, "member")
	for _, args := range [][]string{
		{"secure", "init", "--out", all},
		{"secure", "issue", "--dir", all, "--role", "member", "--for", "snowgrid", "--out", member},
	} {
		if out, err := exec.Command(snowgrid(t), args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	return all, member
}

// filesIn returns the files of a directory by name.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(text)
	}
	return files
}

// checkCredentials: the secret is mounted read-only where the agent looks for it, readable
// by the agent's group alone, and nothing turns security off.
func (m manifests) checkCredentials(t *testing.T) {
	t.Helper()
	if m.env("SNOWGRID_INSECURE") != "" || slices.Contains(m.container().Args, "--insecure") {
		t.Error("the manifest turns security off")
	}
	if dir := m.env("SNOWGRID_SECURITY_DIR"); dir != securityDir {
		t.Errorf("SNOWGRID_SECURITY_DIR is %q, want %s", dir, securityDir)
	}
	mount := m.mounted(t, securityDir)
	volume := m.volume(mount.Name)
	if volume == nil || volume.Projected == nil || len(volume.Projected.Sources) == 0 || !mount.ReadOnly {
		t.Fatalf("the credentials are mounted as %+v of %+v", mount, volume)
	}
	for _, source := range volume.Projected.Sources {
		if source.Secret == nil || source.Secret.Name == "" {
			t.Errorf("a source of the credentials is not a secret: %+v", source)
		}
	}
	if mode := volume.Projected.DefaultMode; mode == nil || *mode != 0o440 {
		t.Errorf("the credentials have the mode %v, want 0440", mode)
	}
}

// project writes the directory that a projected volume has, from secrets.
func project(t *testing.T, volume *corev1.ProjectedVolumeSource, secrets map[string]map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	put := func(name, text string) {
		if text == "" {
			t.Fatalf("the secrets have no content for %s", name)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	for _, source := range volume.Sources {
		content := secrets[source.Secret.Name]
		if content == nil {
			t.Fatalf("no such secret: %q", source.Secret.Name)
		}
		for _, item := range source.Secret.Items {
			put(item.Path, content[item.Key])
		}
		if len(source.Secret.Items) == 0 {
			for name, text := range content {
				put(name, text)
			}
		}
	}
	return dir
}

// securedAgent runs an agent with variables of a deployment, reachable from other machines,
// until the end of the test, and returns its addresses.
func securedAgent(t *testing.T, variables map[string]string, dir string) (api, ops string) {
	t.Helper()
	ports := make([]int, 4)
	for i := range ports {
		ports[i] = freePort(t)
	}
	for name, value := range map[string]string{
		"SNOWGRID_GOSSIP_ADDR":    fmt.Sprintf("0.0.0.0:%d", ports[0]),
		"SNOWGRID_RAFT_ADDR":      fmt.Sprintf("0.0.0.0:%d", ports[1]),
		"SNOWGRID_API_ADDR":       fmt.Sprintf("0.0.0.0:%d", ports[2]),
		"SNOWGRID_OPS_ADDR":       fmt.Sprintf("127.0.0.1:%d", ports[3]),
		"SNOWGRID_ADVERTISE_HOST": "127.0.0.1", "SNOWGRID_JOIN": "", "SNOWGRID_EXPECT": "1", "SNOWGRID_ANCHOR": "",
		"SNOWGRID_DATA_DIR": filepath.Join(t.TempDir(), "data"), "SNOWGRID_SECURITY_DIR": dir,
	} {
		variables[name] = value
	}
	agent := exec.Command(snowgrid(t), "agent")
	agent.Env = os.Environ()
	for name, value := range variables {
		if value != "" {
			agent.Env = append(agent.Env, name+"="+value)
		}
	}
	var said bytes.Buffer
	agent.Stderr = &said
	stdout, err := agent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	slow := time.AfterFunc(patience, func() { _ = agent.Process.Kill() })
	t.Cleanup(func() {
		slow.Stop()
		_ = agent.Process.Signal(syscall.SIGTERM)
		if err := agent.Wait(); err != nil && !t.Failed() {
			t.Errorf("the agent ended with %v; its log:\n%s", err, said.String())
		}
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || !strings.HasPrefix(line, "serving grid") {
		t.Fatalf("the agent says %q, %v; its log:\n%s", line, err, said.String())
	}
	return fmt.Sprintf("127.0.0.1:%d", ports[2]), "http://" + variables["SNOWGRID_OPS_ADDR"]
}

// checkSecured: commands with credentials are served, those without are not, and probes
// need none.
func checkSecured(t *testing.T, api, ops, all, own string) {
	t.Helper()
	command := func(dir string, args ...string) (string, error) {
		c := exec.Command(snowgrid(t), append(args, "--addr", api)...)
		if c.Env = os.Environ(); dir != "" {
			c.Env = append(c.Env, "SNOWGRID_SECURITY_DIR="+dir)
		}
		out, err := c.CombinedOutput()
		return string(out), err
	}
	for _, dir := range []string{all, own} { // an operator, and the health check of the container
		for _, name := range []string{"status", "alive"} {
			if out, err := command(dir, name); err != nil {
				t.Errorf("%s with the credentials of %s: %v: %s", name, dir, err, out)
			}
		}
	}
	if out, err := command("", "status", "--timeout", "5s"); err == nil {
		t.Errorf("status without credentials: %s", out)
	}
	for _, path := range []string{"/livez", "/readyz"} {
		response, err := http.Get(ops + path)
		if err != nil {
			t.Error(err)
			continue
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s on the port of the probes: %s", path, response.Status)
		}
	}
}

// variables returns the agent's variables of a manifest.
func (m manifests) variables() map[string]string {
	out := map[string]string{}
	for _, v := range m.container().Env {
		if strings.HasPrefix(v.Name, "SNOWGRID_") {
			out[v.Name] = v.Value
		}
	}
	return out
}

// TestManifestsAgent starts an agent with the variables of each manifest, and the directory
// that its volume has with the secrets that docs/deploy.md makes.
func TestManifestsAgent(t *testing.T) {
	all, member := credentials(t)
	files := filesIn(t, member)
	if len(files) != len(memberFiles) {
		t.Fatalf("a member has the files %v, want %v", files, memberFiles)
	}
	certificates := map[string]string{"tls.crt": files["member.crt"], "tls.key": files["member.key"],
		"ca.crt": files["ca.crt"]}
	keys := map[string]string{"gossip.keys": files["gossip.keys"], "tokens.pub": files["tokens.pub"]}
	other, err := helm(t, "ids", map[string]any{"security": map[string]any{"secretName": "keys",
		"certificateSecretName": "certificates"}})
	if err != nil {
		t.Fatal(err)
	}
	other.check(t)
	chart, err := helm(t, "ids", map[string]any{"security": map[string]any{"secretName": "snowgrid-member"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]manifests{"durable": kustomize(t, "durable"), "memory": kustomize(t, "memory"),
		"chart": chart, "chart, cert-manager": other} {
		t.Run(name, func(t *testing.T) {
			dir := project(t, m.volume(m.mounted(t, securityDir).Name).Projected, map[string]map[string]string{
				"snowgrid-member": files, "keys": keys, "certificates": certificates,
			})
			api, ops := securedAgent(t, m.variables(), dir)
			checkSecured(t, api, ops, all, dir)
		})
	}
}

// TestNothingIsInsecure: no file under deploy or examples turns security off, but for the
// chart's value that does.
func TestNothingIsInsecure(t *testing.T) {
	checked := 0
	for _, root := range []string{"..", "../../examples"} {
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/helm/") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			checked++
			for _, word := range []string{"--insecure", "SNOWGRID_INSECURE", "insecure: true", "Insecure:"} {
				if bytes.Contains(text, []byte(word)) {
					t.Errorf("%s has %s", path, word)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if checked < 20 {
		t.Errorf("only %d files were checked", checked)
	}
}
