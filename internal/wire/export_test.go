package wire

// For tests of the encoders and decoders by hand.
var (
	AppendByReflection = appendByReflection
	DecodeByReflection = decodeMsgPack
)
