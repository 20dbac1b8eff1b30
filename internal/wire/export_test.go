package wire

// For tests of the encoders and decoders by hand.
var (
	EncodeByReflection = encodeMsgPack
	DecodeByReflection = decodeMsgPack
	DecodeQuickly      = quickly
)
