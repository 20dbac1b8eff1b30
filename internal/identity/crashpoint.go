package identity

// CrashPoint is a point in a registration at which tests crash the process.
type CrashPoint string

// The crash points, in first-start order.
const (
	BeforeApplication CrashPoint = "before-application" // nothing is stored
	AfterApplication  CrashPoint = "after-application"  // the application is stored, and not sent
	AfterApply        CrashPoint = "after-apply"        // the grid has accepted it
	BeforeRename      CrashPoint = "before-rename"      // the number is written under its scratch name
	AfterNumber       CrashPoint = "after-number"       // both files are there
	BeforeRegister    CrashPoint = "before-register"    // only the number's file is there
)

// AtCrashPoint is called at each crash point. It does nothing; a test replaces it.
var AtCrashPoint = func(CrashPoint) {}
