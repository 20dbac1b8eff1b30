// Package upgrade checks that two releases work together: agents and holders of the release
// before and of the next one, as processes, in one grid under load, while its members are
// upgraded one after the other and taken back. No Next may fail, no ID may be there twice,
// and the IDs of each handle ascend.
//
// Until the first release, both are builds of this tree. The release before is the plain build;
// the next one has the build tag [NextTag], by which package roster has one more protocol, with
// one more field of the roster and of messages.
package upgrade

const (
	// NextTag is the build tag of the next release.
	NextTag = "nextrelease"
	// PreviousProtocol is the latest protocol of the release before.
	PreviousProtocol = 1
	// NextProtocol is the latest protocol of the next release.
	NextProtocol = 2
)
