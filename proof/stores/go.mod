module github.com/snowgrid/snowgrid/proof/stores

go 1.26.0

require (
	github.com/jackc/pgx/v5 v5.12.0
	github.com/snowgrid/snowgrid v0.1.0
	github.com/snowgrid/snowgrid/client/etcd v0.1.0
	github.com/snowgrid/snowgrid/client/s3 v0.1.0
	github.com/snowgrid/snowgrid/client/s3/s3test v0.1.0
	github.com/snowgrid/snowgrid/client/sql v0.1.0
	go.etcd.io/etcd/client/v3 v3.7.3
)

require (
	github.com/aws/aws-sdk-go-v2 v1.47.6 // indirect
	github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream v1.7.26 // indirect
	github.com/aws/aws-sdk-go-v2/internal/configsources v1.5.9 // indirect
	github.com/aws/aws-sdk-go-v2/internal/endpoints/v2 v2.8.9 // indirect
	github.com/aws/aws-sdk-go-v2/internal/v4a v1.5.9 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/accept-encoding v1.13.24 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/checksum v1.11.10 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/presigned-url v1.14.9 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/s3shared v1.20.9 // indirect
	github.com/aws/aws-sdk-go-v2/service/s3 v1.114.7 // indirect
	github.com/aws/smithy-go v1.28.8 // indirect
	github.com/coreos/go-semver v0.3.1 // indirect
	github.com/coreos/go-systemd/v22 v22.7.0 // indirect
	github.com/golang/protobuf v1.5.4 // indirect
	github.com/grpc-ecosystem/grpc-gateway/v2 v2.29.0 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	github.com/snowgrid/snowgrid/proof v0.1.0
	go.etcd.io/etcd/api/v3 v3.7.3 // indirect
	go.etcd.io/etcd/client/pkg/v3 v3.7.3 // indirect
	go.uber.org/multierr v1.11.0 // indirect
	go.uber.org/zap v1.27.1 // indirect
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20260803160001-6ac0973c030d // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260803160001-6ac0973c030d // indirect
	google.golang.org/grpc v1.83.2 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace (
	github.com/snowgrid/snowgrid => ../..
	github.com/snowgrid/snowgrid/client/etcd => ../../client/etcd
	github.com/snowgrid/snowgrid/client/s3 => ../../client/s3
	github.com/snowgrid/snowgrid/client/s3/s3test => ../../client/s3/s3test
	github.com/snowgrid/snowgrid/client/sql => ../../client/sql
)

replace github.com/snowgrid/snowgrid/proof => ..
