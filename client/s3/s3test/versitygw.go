// Package s3test starts S3 servers for tests: versitygw as a process on loopback, which a
// test can kill, stop and start again.
package s3test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/snowgrid/snowgrid/internal/loopback"
)

// Install is the command that installs the server.
const Install = "go install github.com/versity/versitygw/cmd/versitygw@v1.8.0"

// Bucket is the bucket that a server has.
const Bucket = "snowgrid"

const (
	key    = "snowgrid"
	secret = "snowgrid-secret"
	region = "us-east-1"
)

// Server is a versitygw process over a temporary directory.
type Server struct {
	// Addr is its address on loopback. It is the same after Restart.
	Addr string
	// Dir is the directory with the bucket's objects as files.
	Dir string

	t      testing.TB
	binary string
	cmd    *exec.Cmd
}

// Start starts versitygw with an empty [Bucket] and ends it with the test. It skips the test
// if the program is not installed.
func Start(t testing.TB) *Server {
	t.Helper()
	binary, err := find()
	if err != nil {
		t.Skipf("versitygw is not installed (%v); run: %s", err, Install)
	}
	s := &Server{Addr: FreeAddr(t), Dir: t.TempDir(), t: t, binary: binary}
	if err := os.Mkdir(filepath.Join(s.Dir, Bucket), 0o755); err != nil {
		t.Fatal(err)
	}
	s.Restart()
	t.Cleanup(s.Kill)
	return s
}

// find returns the path of versitygw: in PATH, or where go install puts it.
func find() (string, error) {
	path, err := exec.LookPath("versitygw")
	if err == nil {
		return path, nil
	}
	out, goErr := exec.Command("go", "env", "GOPATH").Output()
	if goErr != nil {
		return "", errors.Join(err, goErr)
	}
	return exec.LookPath(filepath.Join(string(out[:max(len(out)-1, 0)]), "bin", "versitygw"))
}

// FreeAddr returns an address on loopback that no process listens on.
func FreeAddr(t testing.TB) string {
	t.Helper()
	addrs, err := loopback.FreeAddrs(1)
	if err != nil {
		t.Fatal(err)
	}
	return addrs[0]
}

// Restart starts the server over the same directory, after Kill.
func (s *Server) Restart() {
	s.t.Helper()
	s.cmd = exec.Command(s.binary, "--quiet", "--keep-alive", "--port", s.Addr,
		"--access", key, "--secret", secret, "--region", region, "posix", s.Dir)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; {
		c, err := net.Dial("tcp", s.Addr)
		if err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("versitygw does not listen on %s: %v", s.Addr, err)
		}
		time.Sleep(20 * time.Millisecond) // no event tells of a listener in another process
	}
}

// Kill ends the server with SIGKILL and waits for its end. A second call does nothing.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.cmd = nil
}

// Signal sends the server a signal: SIGSTOP and SIGCONT pause and resume it.
func (s *Server) Signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// Client returns a client of the server with the SDK's default retries.
func (s *Server) Client() *s3.Client { return Client(s.Addr) }

// Client returns a client of a server or of a proxy before one.
func Client(addr string) *s3.Client {
	return s3.New(s3.Options{
		Region:       region,
		BaseEndpoint: aws.String("http://" + addr),
		UsePathStyle: true,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: key, SecretAccessKey: secret}, nil
		}),
	})
}

// File returns the path of an object's file.
func (s *Server) File(object string) string {
	return filepath.Join(s.Dir, Bucket, filepath.FromSlash(object))
}

// String names the server in messages.
func (s *Server) String() string { return fmt.Sprintf("versitygw on %s", s.Addr) }
