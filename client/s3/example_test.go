package s3_test

import (
	"context"
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/snowgrid/snowgrid/client/s3"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/sequencer"
)

// A service has a configuration of the SDK, such as config.LoadDefaultConfig returns.
func ExampleNew() {
	ctx := context.Background()
	cli := awss3.NewFromConfig(aws.Config{Region: "eu-central-1"})
	c, err := store.Open(ctx, s3.New(cli, "my-bucket", "ids/"), store.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = c.Leave(ctx) }()
	orders, err := c.CreateSequencer(ctx, "orders", sequencer.Config{})
	if err != nil {
		log.Fatal(err)
	}
	id, err := orders.Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(id)
}
