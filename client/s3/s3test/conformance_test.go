package s3test_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/snowgrid/snowgrid/client/s3"
	"github.com/snowgrid/snowgrid/client/s3/s3test"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/client/store/storetest"
)

// deleter deletes objects, as an operator or a lifecycle rule does.
type deleter struct {
	store.Store
	store.Dated
	cli    *awss3.Client
	prefix string
}

func (d deleter) Delete(ctx context.Context, key string) error {
	_, err := d.cli.DeleteObject(ctx, &awss3.DeleteObjectInput{Bucket: aws.String(s3test.Bucket),
		Key: aws.String(d.prefix + key)})
	return err
}

func TestConformance(t *testing.T) {
	engines(t, func(t *testing.T, cli *awss3.Client) {
		storetest.Run(t, func() store.Store {
			s := s3.New(cli, s3test.Bucket, "ids/")
			return deleter{s, s.(store.Dated), cli, "ids/"}
		})
	})
}
