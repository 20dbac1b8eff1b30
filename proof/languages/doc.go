// Package languages runs the clients in Python, TypeScript, Java and Rust beside Go holders on three agents with
// security, while members are killed and stopped, replies are delayed and clients are paused. One client has forked.
// The checker reads all IDs together.
package languages
