package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"
)

// built is the snowgrid command, built once for all tests.
var built = struct {
	once sync.Once
	path string
	said []byte
	err  error
}{}

// snowgrid returns the path of the command, the one in the image if an image is given.
func snowgrid(t *testing.T) string {
	t.Helper()
	if *given != "" {
		return filepath.Join(*given, "snowgrid")
	}
	built.once.Do(func() {
		dir, err := os.MkdirTemp("", "snowgrid")
		if err != nil {
			built.err = err
			return
		}
		built.path = filepath.Join(dir, "snowgrid")
		build := exec.Command("go", "build", "-trimpath", "-o", built.path, "./cmd/snowgrid")
		build.Dir = "../.."
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		built.said, built.err = build.CombinedOutput()
	})
	if built.err != nil {
		t.Fatalf("go build: %v: %s", built.err, built.said)
	}
	return built.path
}

// TestMain removes the command that the tests have built.
func TestMain(m *testing.M) {
	status := m.Run()
	if built.path != "" {
		_ = os.RemoveAll(filepath.Dir(built.path))
	}
	os.Exit(status)
}

var variable = regexp.MustCompile(`\$(SNOWGRID_[A-Z_]+)`)

// agentVariables returns the environment variables that the agent's help names.
func agentVariables(t *testing.T) map[string]bool {
	t.Helper()
	help, err := exec.Command(snowgrid(t), "agent", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, match := range variable.FindAllSubmatch(help, -1) {
		known[string(match[1])] = true
	}
	if len(known) < 10 {
		t.Fatalf("the help of the agent names only the variables %v", known)
	}
	return known
}

// seconds parses a duration of the configuration.
func seconds(t *testing.T, text string) float64 {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d.Seconds()
}
