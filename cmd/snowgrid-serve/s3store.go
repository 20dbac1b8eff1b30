package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/snowgrid/snowgrid/client/s3"
)

// s3Flags are Zeebe's keys for dynamic node IDs below s3. A missing duration has package store's
// default, which equals the original's where that has one.
type s3Flags struct {
	BucketName            string        `help:"Bucket that has the records." env:"BUCKET_NAME" placeholder:"NAME"`
	LeaseDuration         *durationFlag `help:"Window: how long a process issues IDs while the store is away, and how long the node of a crashed one is not used. 2m over S3, 15s elsewhere." env:"LEASE_DURATION" placeholder:"DURATION"`
	TaskID                string        `name:"task-id" help:"Name of this process in the records. Default: random." env:"TASK_ID" placeholder:"NAME"`
	Endpoint              string        `help:"URL of an S3 server other than AWS." env:"ENDPOINT" placeholder:"URL"`
	Region                string        `help:"Region of the bucket." env:"REGION" placeholder:"NAME"`
	AccessKey             string        `help:"Access key. Default: the credentials of the AWS SDK (environment, profile, role)." env:"ACCESS_KEY" placeholder:"KEY"`
	SecretKey             string        `help:"Secret key. In the file or the environment other processes do not see it." env:"SECRET_KEY" placeholder:"KEY"`
	APICallTimeout        *durationFlag `name:"api-call-timeout" help:"Time limit of one call of the store; at most half of the lease duration. Default: that, or 30s if it is shorter." env:"API_CALL_TIMEOUT" placeholder:"DURATION"`
	LeaseAcquireMaxDelay  *durationFlag `help:"Longest pause between two attempts to get a logical node; 30s." env:"LEASE_ACQUIRE_MAX_DELAY" placeholder:"DURATION"`
	ReadinessCheckTimeout *durationFlag `help:"Longest time not to be ready after a predecessor has crashed; more than the lease duration; 2m." env:"READINESS_CHECK_TIMEOUT" placeholder:"DURATION"`
}

// any reports whether a key is given that only makes sense with a bucket.
func (f s3Flags) any() bool {
	return f.BucketName != "" || f.Endpoint != "" || f.Region != "" || f.AccessKey != "" || f.SecretKey != ""
}

// check rejects inconsistent durations, by the original's names.
func (f s3Flags) check() error {
	for name, d := range map[string]*durationFlag{
		"s3.leaseDuration": f.LeaseDuration, "s3.apiCallTimeout": f.APICallTimeout,
		"s3.leaseAcquireMaxDelay": f.LeaseAcquireMaxDelay, "s3.readinessCheckTimeout": f.ReadinessCheckTimeout,
	} {
		if d != nil && *d <= 0 {
			return usagef("%s: %v is not a positive duration; give one such as 2m, or leave it out for the default",
				name, d.of())
		}
	}
	if lease, ready := f.LeaseDuration.of(), f.ReadinessCheckTimeout.of(); ready > 0 && ready <= lease {
		return usagef("s3.readinessCheckTimeout: %v is not longer than s3.leaseDuration, %v; a predecessor that crashed is "+
			"not certain to be gone by then", ready, lease)
	}
	if lease, call := f.LeaseDuration.of(), f.APICallTimeout.of(); lease > 0 && call > lease/2 {
		return usagef("s3.apiCallTimeout: %v is longer than half of s3.leaseDuration, %v; a renewal could come too late",
			call, lease)
	}
	if (f.AccessKey == "") != (f.SecretKey == "") {
		return usagef("s3.accessKey and s3.secretKey: one is given without the other; give both, or none for the " +
			"credentials of the AWS SDK")
	}
	return nil
}

var regionName = regexp.MustCompile(`^[A-Za-z0-9-]*$`)

// locateS3 returns the store in a bucket: s3://BUCKET/PREFIX. The flags count where the URL
// states nothing.
func locateS3(ctx context.Context, f storeFlags, _, rest string) (located, error) {
	a, err := parseAddress(rest, []string{"region", "endpoint", "path_style"})
	if err != nil {
		return located{}, err
	}
	if err := f.S3.check(); err != nil {
		return located{}, err
	}
	if len(a.hosts) > 1 || a.user != nil {
		return located{}, usagef(
			"write s3://BUCKET/PREFIX; credentials go to s3.accessKey and s3.secretKey or to the AWS SDK's variables")
	}
	bucket := f.S3.BucketName
	if len(a.hosts) == 1 {
		bucket = a.hosts[0]
	}
	if bucket == "" {
		return located{}, usagef("s3.bucketName: empty; name the bucket that has the records")
	}
	region, endpoint := f.S3.Region, f.S3.Endpoint
	if a.query.Has("region") {
		region = a.query.Get("region")
	}
	if a.query.Has("endpoint") {
		endpoint = a.query.Get("endpoint")
	}
	if u, err := url.Parse(endpoint); endpoint != "" && (err != nil || u.Host == "" ||
		u.Scheme != "http" && u.Scheme != "https") {
		return located{}, usagef("s3.endpoint: %.80q is not a URL; write http://HOST:PORT or https://HOST", endpoint)
	}
	if !regionName.MatchString(region) {
		return located{}, usagef("s3.region: %.40q is not a region; give letters, digits and hyphens, such as eu-central-1",
			region)
	}
	pathStyle, err := yes(a.query, "path_style", endpoint != "")
	if err != nil {
		return located{}, err
	}
	cli, err := s3Client(ctx, f.S3, region, endpoint, pathStyle)
	if err != nil {
		return located{}, err
	}
	prefix := a.path
	if prefix != "" && prefix[len(prefix)-1] != '/' {
		prefix += "/"
	}
	at := opened{Store: s3.New(cli, bucket, prefix), name: "s3://" + bucket + "/" + prefix, closed: func() {}}
	return located{like: at.Store, open: func(context.Context, func(error)) (opened, error) { return at, nil }}, nil
}

// s3Backoff is the longest pause between the attempts of one call. The SDK's own is longer than the time limit of a
// call for a short window, whose end would hide why the attempts failed.
const s3Backoff = 200 * time.Millisecond

// s3Client returns a client with the credentials in the flags, or from the AWS SDK.
func s3Client(ctx context.Context, f s3Flags, region, endpoint string, pathStyle bool) (*awss3.Client, error) {
	var options []func(*config.LoadOptions) error
	if region == "" && endpoint != "" {
		region = "us-east-1" // other servers ignore it, and the signature needs one
	}
	if region != "" {
		options = append(options, config.WithRegion(region))
	}
	if f.AccessKey != "" {
		options = append(options, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(f.AccessKey,
			f.SecretKey, "")))
	}
	loading, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cfg, err := config.LoadDefaultConfig(loading, options...)
	if err != nil {
		return nil, fmt.Errorf("the AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		return nil, errors.New("s3.region: empty; give the bucket's region")
	}
	return awss3.NewFromConfig(cfg, func(o *awss3.Options) {
		o.UsePathStyle = pathStyle
		o.Retryer = retry.NewStandard(func(r *retry.StandardOptions) { r.MaxBackoff = s3Backoff })
		o.DisableLogOutputChecksumValidationSkipped = true // servers other than AWS have no checksums
		if endpoint != "" {
			o.BaseEndpoint = aws.String(endpoint)
		}
	}), nil
}
