package security

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
)

// Explain describes a TLS or certificate error and its remedy in one sentence; for any other error
// it returns the error's own text.
func Explain(err error) string {
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var record tls.RecordHeaderError
	text := err.Error()
	switch {
	case errors.Is(err, ErrUnauthenticated):
		_, reason, _ := strings.Cut(text, ErrUnauthenticated.Error()+": ")
		return reason
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate of the other side is expired, or not valid yet: renew it with snowgrid secure issue, and " +
			"check the clocks"
	case errors.As(err, &invalid):
		return "the certificate of the other side is not one for this use (" + invalid.Error() +
			"): issue one with snowgrid secure issue"
	case errors.As(err, &unknown):
		return "the certificate of the other side is of an authority that is not trusted here: use certificates of one " +
			"authority, or add its certificate to " + AuthorityFile
	case errors.As(err, &host):
		return "the certificate of the other side is for another host (" + host.Error() +
			"): give a name that the certificates of all members have (--tls-server-name), or issue one with --host"
	case errors.As(err, &record), strings.Contains(text, "server gave HTTP response to HTTPS client"):
		return "the other side speaks clear text, since it runs without security: omit --security-dir, or start it with one"
	}
	for _, alert := range alerts {
		if strings.Contains(text, alert.text) {
			return alert.sentence
		}
	}
	return text
}

// alerts are the other side's words about this side's certificate. Package tls has no
// sentinels for them.
var alerts = []struct{ text, sentence string }{
	{"remote error: tls: expired certificate",
		"the member says that this certificate is expired, or not valid yet: renew it with snowgrid secure issue, and " +
			"check the clocks"},
	{"remote error: tls: unknown certificate authority", untrusted},
	{"remote error: tls: bad certificate", refused},
	{"remote error: tls: unsupported certificate",
		"the member says that this certificate is not one of a caller: issue one with snowgrid secure issue"},
	{"remote error: tls: certificate required", "the member asks for a certificate: give --security-dir"},
	{"tls: protocol version not supported", tooOld},
	{"tls: server selected unsupported protocol version", tooOld},
}

const tooOld = "the other side speaks no TLS 1.3, which is needed: check that it is a member, and that nothing in " +
	"between ends TLS"

const untrusted = "the member does not trust the authority of this certificate: use one that its authority issued " +
	"(snowgrid secure issue)"

// refused covers an alert with several causes: a process that checks a member's certificate sends no other.
const refused = "the other side refuses this side's certificate: it is expired, for another host, or of an authority " +
	"that is not trusted there; look at it with snowgrid secure show, and use one of its authority (snowgrid secure issue)"
