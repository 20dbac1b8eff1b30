// Package check renders the files under deploy with the tools that users have, validates
// the result against the types of Kubernetes and ECS, and starts what can be started: the
// systemd unit under a notify socket, and the content of the image in a read-only root.
//
//	cd deploy/check && go test ./...
package check
