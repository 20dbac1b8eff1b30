package check

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// inImage runs the image's command as a container would: as its user, in a root that is
// read-only but for /data, with credentials mounted.
const inImage = `
mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && mount --bind "$1" "$0/data" &&
  mount --bind "$2" "$0/etc/snowgrid/security" && mount -o remount,bind,ro "$0/etc/snowgrid/security" || exit 125
root=$0; shift 2
export SNOWGRID_SECURITY_DIR=/etc/snowgrid/security
exec chroot --userspec=65532:65532 "$root" /snowgrid "$@"
`

// given is the root directory of an image that was built elsewhere.
var given = flag.String("image", "", "let TestImage run the image in this directory, in place of the Dockerfile's")

// TestImage assembles the content of the image, if none is given, and runs an agent in it.
func TestImage(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root is needed for a root directory of its own that is read-only; run it with sudo")
	}
	if err := exec.Command("unshare", "--mount", "true").Run(); err != nil {
		t.Skipf("mounts cannot be made here: unshare --mount: %v", err)
	}
	// Outside the test's own directory, which only root may enter.
	root, err := os.MkdirTemp("", "image")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	image, data, secrets := filepath.Join(root, "image"), filepath.Join(root, "data"), filepath.Join(root, "member")
	_, member := credentials(t)
	for _, args := range [][]string{{"cp", "-r", member, secrets}, {"chown", "-R", "65532:65532", secrets}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	if *given != "" {
		image = *given
	} else if out, err := exec.Command("../docker/rootfs", image).CombinedOutput(); err != nil {
		t.Fatalf("rootfs: %v: %s", err, out)
	} else {
		checkFiles(t, image)
	}
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(data, 65532, 65532); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) *exec.Cmd {
		return exec.Command("unshare", append([]string{"--mount", "sh", "-c", inImage, image, data, secrets}, args...)...)
	}

	port := freePort(t)
	listen, api := fmt.Sprintf("0.0.0.0:%d", port), fmt.Sprintf("127.0.0.1:%d", port)
	agent := run("agent", "--expect", "1", "--data-dir", "/data", "--api-addr", listen, "--advertise-host", "127.0.0.1",
		"--gossip-addr", fmt.Sprintf("127.0.0.1:%d", freePort(t)), "--raft-addr", "127.0.0.1:0")
	var said bytes.Buffer
	agent.Stderr = &said
	stdout, err := agent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = agent.Process.Kill() }()
	defer time.AfterFunc(patience, func() { _ = agent.Process.Kill() }).Stop()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "serving grid") {
		_ = agent.Process.Kill()
		_ = agent.Wait()
		t.Fatalf("the agent in the image says %q, %v; its log:\n%s", line, err, said.String())
	}
	if out, err := run("alive", "--addr", api).CombinedOutput(); err != nil {
		t.Errorf("alive in the image: %v: %s", err, out)
	}
	out, err := run("next", "orders", "-n", "3", "--addr", api).Output()
	if err != nil || len(strings.Fields(string(out))) != 3 {
		t.Errorf("next in the image: %q, %v", out, err)
	}
	if out, err := run("agent", "--expect", "1", "--data-dir", "/elsewhere", "--api-addr", "127.0.0.1:0", "--gossip-addr",
		"127.0.0.1:0", "--raft-addr", "127.0.0.1:0").CombinedOutput(); err == nil ||
		!bytes.Contains(out, []byte("read-only file system")) {
		t.Errorf("an agent that writes beside /data: %v: %s", err, out)
	}
	if err := agent.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, stdout)
	if err := agent.Wait(); err != nil {
		t.Errorf("the agent in the image ended with %v; its log:\n%s", err, said.String())
	}
}

// checkFiles: the image has the files of the command and of its user alone.
func checkFiles(t *testing.T, image string) {
	t.Helper()
	var files []string
	err := filepath.WalkDir(image, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, strings.TrimPrefix(path, image))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(f string) bool { return f == "/etc/ssl/certs/ca-certificates.crt" })
	if want := []string{"/etc/group", "/etc/passwd", "/snowgrid"}; !slices.Equal(files, want) {
		t.Errorf("the image has the files %v, want %v", files, want)
	}
	if out, err := exec.Command("readelf", "-d", filepath.Join(image, "snowgrid")).CombinedOutput(); err == nil &&
		!bytes.Contains(out, []byte("no dynamic section")) {
		t.Errorf("the command in the image is not static: %s", out)
	}
}

// TestDockerfile: the image is the tree that the test above has run. A build needs an engine; the
// lines that matter are read here.
func TestDockerfile(t *testing.T) {
	text, err := os.ReadFile("../docker/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`^FROM scratch$`, `^COPY --chown=0:0 rootfs/ /$`, `^COPY --chown=65532:65532 rootfs/data /data$`,
		`^USER 65532:65532$`,
		`^ENTRYPOINT \["/snowgrid"\]$`, `^STOPSIGNAL SIGTERM$`, `^HEALTHCHECK .*\["/snowgrid", "alive"\]$`,
	} {
		if !regexp.MustCompile(`(?m)` + line).Match(text) {
			t.Errorf("the Dockerfile has no line %s", line)
		}
	}
}
