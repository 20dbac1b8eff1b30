// Package snowflakepb is the gRPC service of snowgrid-serve, generated from
// snowflake.proto. It needs Debian's protobuf-compiler and libprotobuf-dev.
//
//	go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
//	go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2
//	go generate ./snowflakepb
package snowflakepb

//go:generate protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative snowflake.proto
