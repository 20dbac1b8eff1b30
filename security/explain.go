package security

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
)

// Explain returns a sentence about an error of TLS or of a certificate, with its remedy; the
// error's own text for any other error.
func Explain(err error) string {
	var expired x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var record tls.RecordHeaderError
	text := err.Error()
	switch {
	case errors.As(err, &expired) && expired.Reason == x509.Expired:
		return "the certificate of the other side is expired, or not valid yet: renew it with snowgrid secure issue, and check the clocks"
	case errors.As(err, &unknown):
		return "the certificate of the other side is of an authority that is not trusted here: use certificates of one authority, or add its certificate to " + AuthorityFile
	case errors.As(err, &host):
		return "the certificate of the other side is not one of a member at that address: " + host.Error()
	case errors.As(err, &record), strings.Contains(text, "server gave HTTP response to HTTPS client"):
		return "the other side speaks clear text: it runs without security, so give no certificate, or give it one"
	case strings.Contains(text, "tls: expired certificate"):
		return "the member says that this certificate is expired: renew it with snowgrid secure issue"
	case strings.Contains(text, "tls: unknown certificate authority"), strings.Contains(text, "tls: bad certificate"):
		return "the member does not trust the authority of this certificate: use one that its authority issued (snowgrid secure issue)"
	case strings.Contains(text, "tls: certificate required"):
		return "the member asks for a certificate: give --security-dir"
	}
	return text
}
