package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/bounded"
)

// storeFlags locate the records. The original systems' keys are separate flags, so that their
// configuration files can be used.
type storeFlags struct {
	Store string `help:"Where the records are: file:DIR, etcd://, s3://, postgres://, mysql:// or sqlite:, as in snowgrid-serve --help. Default: the bucket of --s3-bucket-name, or the servers of --etcd-endpoints." env:"SNOWGRID_STORE" placeholder:"URL"`
	Type  string `help:"Kind of the store: s3 or etcd. Only as a check; fixed node IDs need no store." env:"SNOWGRID_TYPE" placeholder:"KIND"`

	S3   s3Flags   `embed:"" prefix:"s3-" envprefix:"SNOWGRID_S3_"`
	Etcd etcdFlags `embed:"" prefix:"etcd-" envprefix:"SNOWGRID_ETCD_"`

	Window        *durationFlag `help:"How long a process issues IDs while the store is away, and how long the node of a crashed one is not used: 15s, over S3 2m, over etcd 9s. The same in all processes: one with a shorter window warns of the others and may skip their nodes; --s3-lease-duration is another name." env:"SNOWGRID_WINDOW" placeholder:"DURATION"`
	Task          string        `help:"Name of this process in the records, for people. Default: random." env:"SNOWGRID_TASK" placeholder:"NAME"`
	FailoverBound *durationFlag `help:"Longest time for which a database server that was replaced may still acknowledge writes. Needed for a store that can lose acknowledged writes in a failover." env:"SNOWGRID_FAILOVER_BOUND" placeholder:"DURATION"`
	Timeout       durationFlag  `help:"Time limit for the answers of the store at the start, and of a command." default:"30s" env:"SNOWGRID_TIMEOUT"`

	reads bool `kong:"-"` // the store is not created if it is missing
}

// opened is a store, and the resources that end with its use.
type opened struct {
	store.Store
	name   string // for people: without credentials
	closed func()
}

// locators has the schemes for --store.
var locators = map[string]locator{"file": locateFile, "etcd": locateEtcd, "s3": locateS3, "postgres": locatePostgres,
	"postgresql": locatePostgres, "mysql": locateMySQL, "sqlite": locateSQLite}

// url returns the store's URL, built from an original system's keys if there is none.
func (f storeFlags) url() (string, error) {
	url := f.Store
	switch {
	case f.Type == "fixed":
		return "",
			usagef("type: a fixed node ID needs no store, and gives equal IDs when two processes have the same one; give s3, " +
				"etcd, or a --store")
	case f.Type != "" && f.Type != "s3" && f.Type != "etcd":
		return "", usagef("type: %.40q is unknown; give s3 or etcd", f.Type)
	case f.S3.any() && f.S3.BucketName == "" && !strings.HasPrefix(url, "s3:"):
		return "", usagef("s3.bucketName: empty; name the bucket that has the records")
	case url != "":
	case f.S3.any() && len(f.Etcd.Endpoints) > 0:
		return "", usagef("both s3.bucketName and etcd_endpoints are given; give one store")
	case f.S3.any():
		url = "s3://" + f.S3.BucketName
	case len(f.Etcd.Endpoints) > 0:
		url = "etcd://" + strings.Join(f.Etcd.Endpoints, ",")
	default:
		return "", usagef("no store: give --store URL, such as file:./ids, or --s3-bucket-name or --etcd-endpoints")
	}
	if scheme, _, _ := strings.Cut(url, ":"); f.Type != "" && scheme != f.Type {
		return "", usagef("type: %s, and the store is %s:...; give one of both", f.Type, scheme)
	}
	return url, nil
}

// located is a store whose URL has no mistake, before its servers or its directory are asked.
type located struct {
	scheme string
	like   store.Store // of the same kind, to check a configuration; it is not called
	open   func(ctx context.Context, failing func(error)) (opened, error)
}

// locator reads the URL of a store with one of its schemes. It waits for no server.
type locator func(ctx context.Context, f storeFlags, scheme, rest string) (located, error)

// locate returns the store of the flags, or the mistake in its URL.
func (f storeFlags) locate(ctx context.Context) (located, error) {
	url, err := f.url()
	if err != nil {
		return located{}, err
	}
	scheme, rest, found := strings.Cut(url, ":")
	if !found { // it may be anything, a password too
		return located{},
			usagef("--store is not a URL of a store; give file:DIR, etcd://, s3://, postgres://, mysql:// or sqlite:FILE")
	}
	locate := locators[scheme]
	if locate == nil {
		return located{},
			usagef("--store %.20q: not the scheme of a store; give file:DIR, etcd://, s3://, postgres://, mysql:// or "+
				"sqlite:FILE", scheme)
	}
	at, err := locate(ctx, f, scheme, rest)
	if err != nil {
		return located{}, usagef("--store %s:...: %w", scheme, err)
	}
	at.scheme = scheme
	return at, nil
}

// ofFlags has the flags for the names in errors of package store.
var ofFlags = strings.NewReplacer("store: Config.Window:", "--window:", "store: Config.MaxClockBack:",
	"--max-clock-back:", "store: Config.FailoverBound:", "--failover-bound:", "store: Config.Task:", "--task:",
	"store: Config.CallTimeout:", "s3.apiCallTimeout:", "store: Config.AcquireMaxDelay:", "s3.leaseAcquireMaxDelay:",
	"store: Config.ReadyTimeout:", "s3.readinessCheckTimeout:", "store: Config.Pool:", "max_server_cnt:",
	"or 0 for the default", "or leave it out")

// check refuses a configuration that cannot work with the store.
func (l located) check(cfg store.Config) error {
	if err := cfg.Check(l.like); err != nil {
		return usage(errors.New(ofFlags.Replace(err.Error())))
	}
	return nil
}

// unreported ignores the errors of a store that does not answer yet.
func unreported(error) {}

// opens opens the store, and calls failing with the error of each attempt until it answers. It sends nothing that has
// to be undone.
func (l located) opens(ctx context.Context, failing func(error)) (opened, error) {
	var hangs bounded.Calls
	o, err := bounded.Do(ctx, &hangs, "open", func(ctx context.Context) (opened, error) { return l.open(ctx, failing) })
	if err != nil {
		return opened{}, fmt.Errorf("--store %s:...: %w", l.scheme, err)
	}
	return o, nil
}

// window returns the window that is stated, 0 for the default.
func (f storeFlags) window() time.Duration { return f.Window.of() + f.S3.LeaseDuration.of() }

// windows returns the part of the client's configuration that the store's own keys set.
func (f storeFlags) windows() (store.Config, error) {
	if err := f.S3.check(); err != nil {
		return store.Config{}, err
	}
	if f.Window != nil && f.S3.LeaseDuration != nil || f.Task != "" && f.S3.TaskID != "" {
		return store.Config{}, usagef(
			"--window and s3.leaseDuration, and --task and s3.taskId, are one setting each; give one of both")
	}
	if err := f.checkTimeout(); err != nil {
		return store.Config{}, err
	}
	if f.FailoverBound.of() < 0 {
		return store.Config{}, usagef("--failover-bound: %v is negative; give a duration such as 30s, or leave it out",
			f.FailoverBound.of())
	}
	if f.Window != nil && *f.Window <= 0 {
		return store.Config{}, usagef("--window: %v is not a positive duration; give one such as 15s", f.Window.of())
	}
	return store.Config{
		Window: f.window(), Task: f.Task + f.S3.TaskID, CallTimeout: f.S3.APICallTimeout.of(),
		AcquireMaxDelay: f.S3.LeaseAcquireMaxDelay.of(), ReadyTimeout: f.S3.ReadinessCheckTimeout.of(),
		FailoverBound: f.FailoverBound.of(),
	}, nil
}

// checkTimeout rejects a time limit in which no store can answer.
func (f storeFlags) checkTimeout() error {
	if f.Timeout <= 0 {
		return usagef("--timeout: %v is not a positive duration; give one such as 30s", time.Duration(f.Timeout))
	}
	return nil
}

// within runs do with the store, within the time limit. It refuses a configuration that cannot work with the store.
func (f storeFlags) within(ctx context.Context, cfg *store.Config, do func(context.Context, opened) error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(f.Timeout))
	defer cancel()
	at, err := f.locate(ctx)
	if err == nil && cfg != nil {
		err = at.check(*cfg)
	}
	if err != nil {
		return err
	}
	o, err := at.opens(ctx, unreported)
	if err != nil {
		return err
	}
	defer o.closed()
	return do(ctx, o)
}
