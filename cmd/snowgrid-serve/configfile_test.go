package main

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestConfigOfTheOriginals: the configuration files of both systems name the store and its
// settings (rows E16 and Z27).
func TestConfigOfTheOriginals(t *testing.T) {
	for text, want := range map[string]map[string]string{
		`{"etcd_endpoints":["10.0.0.1:2379","10.0.0.2:2379"],"etcd_prefix":"/i3d/","etcd_username":"u","etcd_password":"p","max_server_cnt":1024}`: {
			"etcd-endpoints": "10.0.0.1:2379,10.0.0.2:2379", "etcd-prefix": "/i3d/", "etcd-username": "u", "etcd-password": "p",
			"max-server-cnt": "1024",
		},
		`{"type":"s3","s3":{"bucketName":"ids","leaseDuration":"PT2M","taskId":"t","endpoint":"http://e","region":"r","accessKey":"a","secretKey":"s",
			"apiCallTimeout":"10s","leaseAcquireMaxDelay":"30s","readinessCheckTimeout":"PT3M"}}`: {
			"type": "s3", "s3-bucket-name": "ids", "s3-lease-duration": "PT2M", "s3-task-id": "t", "s3-endpoint": "http://e",
			"s3-region":     "r",
			"s3-access-key": "a", "s3-secret-key": "s", "s3-api-call-timeout": "10s", "s3-lease-acquire-max-delay": "30s",
			"s3-readiness-check-timeout": "PT3M",
		},
	} {
		got, _, err := parseConfig([]byte(text))
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%s\nis %v, %v", text, got, err)
		}
		file := filepath.Join(t.TempDir(), "config.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		// The command knows every key: it fails for what follows them.
		if code, _, errs := command(t, "status", "--config", file, "--store", "nothing:"); code != exitUsage ||
			strings.Contains(errs, "unknown") || !strings.Contains(errs, "nothing") {
			t.Errorf("%d %s", code, errs)
		}
	}
}

// TestSecretsInOpenFiles: a file that every user may read cannot have a password, and can have the rest.
func TestSecretsInOpenFiles(t *testing.T) {
	for text, secret := range map[string]bool{
		`{"etcd_endpoints":["127.0.0.1:1"],"etcd_username":"u","etcd_password":"hunter2"}`: true,
		`{"s3":{"bucketName":"ids","region":"r","accessKey":"a","secretKey":"hunter2"}}`:   true,
		`{"store":"postgres://u:hunter2@127.0.0.1:1/db"}`:                                  true,
		`{"etcd_endpoints":["127.0.0.1:1"],"etcd_password":"","window":"1x"}`:              false,
		`{"store":"file:` + t.TempDir() + `/a@b","window":"1x"}`:                           false,
	} {
		file := filepath.Join(t.TempDir(), "config.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, 0o644); err != nil {
			t.Fatal(err)
		}
		code, _, errs := command(t, "serve", "--http-addr=", "--config", file)
		refused := strings.Contains(errs, "is a secret, and every user may read "+file) &&
			strings.Contains(errs, "run chmod 600")
		if code != exitUsage || refused != secret || strings.Contains(errs, "hunter2") {
			t.Errorf("%s: %d %s", text, code, errs)
		}
	}
}

// TestPrecedence: a flag counts more than a variable, and a variable more than the file.
func TestPrecedence(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config.json")
	if err := os.WriteFile(file, []byte(`{"store":"file:`+dir+`/file"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	look := func(want string, args ...string) {
		t.Helper()
		if code, out, errs := command(t, append([]string{"status", "--config", file}, args...)...); code != 0 ||
			!strings.Contains(out, "store file:"+dir+"/"+want+"\n") {
			t.Errorf("%d %s %s; want the store in %s", code, out, errs, want)
		}
	}
	if code, _, errs := command(t, "status", "--config", file); code != exitFailed ||
		!strings.Contains(errs, dir+"/file") {
		t.Errorf("the status of a directory that is missing: %d %s", code, errs)
	}
	if err := os.Mkdir(dir+"/file", 0o700); err != nil {
		t.Fatal(err)
	}
	look("file")
	if err := errors.Join(os.Mkdir(dir+"/variable", 0o700), os.Mkdir(dir+"/flag", 0o700)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SNOWGRID_STORE", "file:"+dir+"/variable")
	look("variable")
	look("flag", "--store", "file:"+dir+"/flag")
	t.Setenv("SNOWGRID_CONFIG", file)
	t.Setenv("SNOWGRID_STORE", "")
	if code, out, errs := command(t, "status"); code != 0 || !strings.Contains(out, dir+"/file\n") {
		t.Errorf("%d %s %s", code, out, errs)
	}
}

func TestConfigRefusals(t *testing.T) {
	for _, tc := range []struct{ text, says string }{
		{`{"s3":{"bucketName":"","leaseDuration":"2m","region":"r"}}`, "s3.bucketName: empty"},
		{`{"s3":{"region":"r"}}`, "s3.bucketName: empty"},
		{`{"s3":{"bucketName":"b","region":"r","leaseDuration":"0s"}}`, "s3.leaseDuration: 0s is not a positive duration"},
		{`{"s3":{"bucketName":"b","region":"r","leaseDuration":"-15s"}}`, "s3.leaseDuration: -15s"},
		{`{"s3":{"bucketName":"b","region":"r","apiCallTimeout":"0s"}}`, "s3.apiCallTimeout: 0s"},
		{`{"s3":{"bucketName":"b","region":"r","leaseAcquireMaxDelay":"PT0S"}}`, "s3.leaseAcquireMaxDelay: 0s"},
		{`{"s3":{"bucketName":"b","region":"r","leaseDuration":"2m","readinessCheckTimeout":"2m"}}`,
			"not longer than s3.leaseDuration"},
		{`{"s3":{"bucketName":"b","region":"r","leaseDuration":"15s","apiCallTimeout":"10s"}}`,
			"longer than half of s3.leaseDuration"},
		{`{"s3":{"bucketName":"b","region":"r","accessKey":"a"}}`, "one is given without the other"},
		{`{"s3":{"bucketName":"b","leaseDuration":"soon"}}`, "write it as 2m, 90s or PT2M"},
		{`{"type":"fixed"}`, "a fixed node ID needs no store"},
		{`{"type":"redis"}`, "give s3 or etcd"},
		{`{"type":"s3","etcd_endpoints":["h:1"]}`, "give one of both"},
		{`{"etcd_endpoints":["h:1"],"s3":{"bucketName":"b"}}`, "give one store"},
		{`{"etcd_endpoint":["h:1"]}`, `the key "etcd_endpoint" is unknown`},
		{`{"s3":{"taskID2":"x"}}`, `.json: the key "s3.taskID2" is unknown`},
		{`{"s3":{"bucketName":"b","taskID":"x","leaseDuration":"0s"}}`, "s3.leaseDuration: 0s"},
		{`{"etcd_endpoints":[1]}`, "something else than strings"},
		{`{"s3":{"bucketName":"b"},"s3_bucket_name":"b"}`, `the keys "s3.bucketName" and "s3_bucket_name" are one setting`},
		{`{"max_server_cnt":"many"}`, "max-server-cnt"},
		{`["a"]`, "not a JSON object"},
		{`{} {}`, "text after"},
		{`{"window":"1s","s3":{"leaseDuration":"1s"},"store":"file:x"}`, "one setting each"},
		{`{}`, "give --store URL"},
		{`{"out":"pages"}`, `the key "out" is unknown`},
		{`{"output":"json"}`, `the key "output" is unknown`},
		{`{"floor":"2026-11-22T18:40:00Z"}`, `the key "floor" is unknown`},
		{`{"config":"other.json"}`, `the key "config" is unknown`},
		{`{"help":true}`, `the key "help" is unknown`},
	} {
		file := filepath.Join(t.TempDir(), "config.json")
		if err := os.WriteFile(file, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, errs := command(t, "serve", "--config", file, "--http-addr", "127.0.0.1:0", "--grpc-addr", "none",
			"--timeout", "1s")
		if code == 0 || !strings.Contains(errs, tc.says) || strings.Contains(errs, "--help: ") {
			t.Errorf("%s: %d %s %s; want %q", tc.text, code, out, errs, tc.says)
		}
	}
	for _, path := range []string{"/no/such/file", t.TempDir()} {
		if code, _, errs := command(t, "status", "--config", path); code != exitUsage || !strings.Contains(errs, "--config") {
			t.Errorf("%s: %d %s", path, code, errs)
		}
	}
}

// TestFloorIsNoKey: the assertion of a repair is made on its command line, never for all repairs in a file.
func TestFloorIsNoKey(t *testing.T) {
	file := configured(t, map[string]any{"floor": "2026-11-22T18:40:00Z", "store": "file:" + t.TempDir()})
	if code, _, errs := command(t, "repair", "orders", "3", file); code != exitUsage ||
		!strings.Contains(errs, `the key "floor" is unknown`) {
		t.Errorf("%d %s", code, errs)
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "1m30s": 90 * time.Second, "PT1M30S": 90 * time.Second, "PT2H": 2 * time.Hour,
		"PT0.5S": time.Second / 2, "-1s": -time.Second,
	} {
		var d durationFlag
		if err := d.UnmarshalText([]byte(text)); err != nil || time.Duration(d) != want {
			t.Errorf("%s is %v, %v", text, time.Duration(d), err)
		}
	}
	for _, text := range []string{"", "PT", "P1D", "10", "soon", "PT1X", "PT9999999H"} {
		var d durationFlag
		if err := d.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is %v", text, time.Duration(d))
		}
	}
}

func TestStoreURLs(t *testing.T) {
	for rest, hosts := range map[string]int{"//h:1": 1, "//u:p@h:1,h2:2,/p?tls=true": 2, "//[::1]:2379/": 1, "///p": 0} {
		if a, err := parseAddress(rest, []string{"tls", "ca"}); err != nil || len(a.hosts) != hosts {
			t.Errorf("%s: %+v, %v", rest, a, err)
		}
	}
	for url, says := range map[string]string{
		"nothing": "not a URL of a store", "redis://h": "not the scheme of a store", "file:": "the path is empty",
		"file://h/x": "names a host",
		"file:x?y=1": "parameter", "etcd:h": "host is missing", "etcd://": "no servers",
		"etcd://h:1/p?tsl=true":  "parameter \"tsl\" is unknown",
		"etcd://h:1?tls=perhaps": "true or false", "etcd://h:1?ca=/no/such/file": "parameter ca", "s3:///p": "bucketName",
		"s3://k:s@b/p?region=r": "credentials",
		"s3://b?regoin=r":       "parameter \"regoin\"", "mysql://h:1": "DATABASE", "sqlite:": "name a file",
		"sqlite::memory:":     "lost with the process",
		"sqlite:x.db?mode=ro": "parameter", "postgres://u:hunter2@%zz/db": "postgres",
		"ftp://u:hunter2@h": "not the scheme of a store", "pg://hunter2": "not the scheme of a store", "hunter2": "not a URL",
	} {
		code, _, errs := command(t, "status", "--timeout", "2s", "--store", url)
		if code != exitUsage || !strings.Contains(errs, says) || strings.Contains(errs, "hunter2") {
			t.Errorf("%s: %d %s; want %q", url, code, errs, says)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	for _, seed := range []string{`{"s3":{"bucketName":"b","leaseDuration":"PT2M"}}`,
		`{"etcd_endpoints":["a"],"max_server_cnt":10}`, `{"a":{"b":null}}`, `[]`, `{"":{"":1}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		values, _, err := parseConfig(text)
		if err != nil {
			return
		}
		for name := range values {
			if strings.ContainsAny(name, "_.") || name != strings.ToLower(name) {
				t.Errorf("%q has the flag %q", text, name)
			}
		}
	})
}
