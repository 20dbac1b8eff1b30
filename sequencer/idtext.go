package sequencer

// base32Digits are Crockford's, in lower case. They sort by their bytes.
const base32Digits = "0123456789abcdefghjkmnpqrstvwxyz"

// base62Digits sort by their bytes, too.
const base62Digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Base32 returns 13 digits in Crockford's Base32 (https://www.crockford.com/base32.html), in lower case. Such
// texts sort like their IDs, also as bytes. Package idtext reads them.
func (id ID) Base32() string {
	var text [13]byte
	for i, rest := len(text)-1, uint64(id); i >= 0; i, rest = i-1, rest>>5 {
		text[i] = base32Digits[rest&31]
	}
	return string(text[:])
}

// Base62 returns 11 digits and letters, upper and lower case. Such texts sort like their IDs where bytes are
// compared: a collation that ignores case mixes them up. Package idtext reads them.
func (id ID) Base62() string {
	var text [11]byte
	for i, rest := len(text)-1, uint64(id); i >= 0; i, rest = i-1, rest/62 {
		text[i] = base62Digits[rest%62]
	}
	return string(text[:])
}
