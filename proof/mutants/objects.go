package main

// objectMutants weaken the store in a bucket's objects.
var objectMutants = []mutant{
	{"H1", "a record is created whether or not it exists", "client/s3/swap.go", `		in.IfNoneMatch = aws.String("*")`,
		`		in.IfMatch = nil`, objectTests},
	{"H1", "a record is replaced at whichever revision it is", "client/s3/swap.go",
		`		in.IfMatch = aws.String(string(e.Revision))`, `		in.IfNoneMatch = nil`, objectTests},
	{"H4", "a refused write counts as not carried out", "client/s3/swap.go", "	case sameWrite && sameBody:",
		"	case sameWrite && sameBody && !repeated:", objectTests},
	{"H4", "another write of one body counts as this one", "client/s3/swap.go", "	case sameWrite && sameBody:",
		"	case sameBody:", objectTests},
	{"H4", "a repeated write that was replaced counts as not carried out", "client/s3/swap.go", "	case repeated:\n",
		"	case false:\n", objectTests},
	{"H4", "a repeated create that was removed counts as not carried out", "client/s3/swap.go",
		"errors.Is(err, store.ErrNoRecord) && !repeated", "errors.Is(err, store.ErrNoRecord)", objectTests},
	{"H4", "requests of the SDK are not counted", "client/s3/exchange.go", "		seen.requests++\n", "", objectTests},
	{"H4", "a conflict counts as unknown", "client/s3/swap.go", "		case conflict:\n", "		case -1:\n", objectTests},
	{"H4", "conflicts are repeated without end", "client/s3/swap.go", "if tries == conflictTries {", "if tries < 0 {",
		objectTests},
	{"H6", "a missing bucket counts as a missing record", "client/s3/reason.go", `	case "NoSuchBucket", "InvalidBucketName":
		return noBucket`, `	case "NoSuchBucket", "InvalidBucketName":
		return noObject`, objectTests},
	{"H6", "a deleted record counts as changed", "client/s3/reason.go", "return failure.Errorf(store.ErrNoRecord,",
		"return failure.Errorf(store.ErrChanged,", objectTests},
	{"H9", "a body without content is written", "client/s3/swap.go", "len(e.Body) == 0 || ", "", objectTests},
	{"store", "a listing ends with its first page", "client/s3/s3.go", "for pages.HasMorePages() {",
		"if pages.HasMorePages() {", objectTests},
	{"store", "the time of the server is that of its request", "client/s3/date.go", "header.Add(within), within",
		"header, 0", objectTests},
	{"store", "a server whose clock was set keeps its old time", "client/s3/date.go",
		" && d.agrees(header, arrived, within)", "", objectTests},
	{"store", "metadata is written as it is", "client/s3/meta.go", "if !plain(v) {", "if false {", objectTests},
}

var objectTests = []string{"-C", "client/s3", "."}
