package wire

// The codec by reflection, which the tests compare with listings.
var (
	AppendByReflection = appendByReflection
	DecodeByReflection = decodeByReflection
)

// ReadListing reports whether a listing alone reads the data.
func ReadListing(data []byte, m Listing) bool { return readListing(data, m) }
