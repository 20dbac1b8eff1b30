// Package upgrade checks that two releases work together: agents and holders of the release
// before and of this one, as processes, in one grid under load, while its members are
// upgraded one after the other and taken back. No Next may fail, no ID may be there twice,
// and the IDs of each handle ascend.
//
// The release before is built from the commit [Previous] of this repository, with the files of
// data directories as this release writes them (testdata/datadir.patch): their format has
// changed since, and nothing was released in the earlier one. A clone without that commit
// cannot run the tests; they say so and are skipped.
package upgrade

// Previous is the commit of the release before this one, and PreviousProtocol the latest
// protocol that it has: see package roster.
const (
	Previous         = "0299653aa6af7912351f02c38d3c80cb5c105577"
	PreviousProtocol = 2
)
