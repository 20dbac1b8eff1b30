package main

import (
	"context"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// awaitText waits until a log has a text.
func awaitText(t *testing.T, logged func() string, text string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(logged(), text); {
		if time.Now().After(deadline) {
			t.Fatalf("the log has no %q:\n%s", text, logged())
		}
		time.Sleep(5 * time.Millisecond) // a log has no event for a line
	}
}

// TestHangupEndsNoProcess: SIGHUP, also from a terminal that is closed, does not end a process, which returns its
// nodes at SIGTERM.
func TestHangupEndsNoProcess(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows sends no signals to processes")
	}
	at := "file:" + t.TempDir()
	p := start(t, "--store", at)
	p.ready()
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	awaitText(t, p.logged, "SIGHUP reloads nothing")
	p.ids(`{}`)
	p.stop()
	if _, out, errs := command(t, "status", "--store", at); strings.Contains(out, "held") {
		t.Errorf("it kept a node: %s%s", out, errs)
	}
}

// TestHangupReloadsCertificates: SIGHUP reloads certificates immediately. An unreadable certificate is reported,
// and the valid one stays.
func TestHangupReloadsCertificates(t *testing.T) {
	f := newTestAuthority(t).write(t.TempDir())
	f.every = time.Hour
	_, callers, err := f.load()
	if err != nil {
		t.Fatal(err)
	}
	log, hangup := &safeBuffer{}, make(chan os.Signal)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		callers.watch(ctx, slog.New(slog.NewTextHandler(log, nil)), hangup)
	}()
	hangup <- syscall.SIGHUP
	awaitText(t, log.String, "certificates reloaded")
	ends := callers.expiry()
	if err := os.WriteFile(f.TLSCert, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	hangup <- syscall.SIGHUP
	awaitText(t, log.String, "certificates not reloaded")
	if text := log.String(); !strings.Contains(text, f.TLSCert) || callers.expiry() != ends || ends == 0 {
		t.Errorf("the certificate ends %f, was %f; log:\n%s", callers.expiry(), ends, text)
	}
	cancel()
	<-ended
}

// TestReadableKey: a private key that every user may read is refused. A key that its group may change is reported.
func TestReadableKey(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("file modes carry no meaning on Windows")
	}
	f := newTestAuthority(t).write(t.TempDir())
	for mode, says := range map[os.FileMode]string{
		0o600: "", 0o640: "", 0o660: "other users may change", 0o604: "every user may read", 0o644: "every user may read",
	} {
		if err := os.Chmod(f.TLSKey, mode); err != nil {
			t.Fatal(err)
		}
		_, _, stderr := command(t, "serve", "--store", "none:", "--http-addr", "127.0.0.1:0", "--grpc-addr", "none",
			"--tls-cert", f.TLSCert, "--tls-key", f.TLSKey)
		for _, text := range []string{"other users may change", "every user may read"} {
			if strings.Contains(stderr, text+" "+f.TLSKey) != (text == says) {
				t.Errorf("mode %v: it should say %q: %s", mode, says, stderr)
			}
		}
	}
}
