package store

import (
	"slices"
	"strings"
)

// tlsRefusals are parts of texts by which one side of TLS refuses the other until a person changes a setting or
// a certificate. Drivers and gRPC pass on the text alone. An expired certificate is not among them: the next one may be
// on its way.
var tlsRefusals = []string{
	"certificate signed by unknown authority", "certificate is valid for ", "certificate is not valid for any names",
	"cannot validate certificate for ", // without IP addresses
	"tls: bad certificate", "tls: certificate required", "tls: unknown certificate authority",
	"tls: first record does not look like a TLS handshake", "http: server gave HTTP response to HTTPS client",
	"server refused TLS connection", "TLS requested but server does not support TLS", // of pgx and go-sql-driver/mysql
}

// tlsAdvice is the remedy for TLS errors.
const tlsAdvice = "; check the TLS settings of the store's client and the server's certificate"

// isTLSRefusal reports whether an error comes from TLS and no wait repairs it.
func isTLSRefusal(err error) bool {
	return slices.ContainsFunc(tlsRefusals, func(part string) bool { return strings.Contains(err.Error(), part) })
}
