use std::fmt;

/// Why no ID can be made. The text names the sequencer, the addresses, the last error and what to
/// do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The sequencer was destroyed. The generator makes no more IDs; a name that is created again
    /// is another sequencer.
    Destroyed(String),
    /// The layout has no timestamps left.
    Exhausted(String),
    /// The generator is closed.
    Ended(String),
    /// No ID could be made before the deadline.
    Timeout(String),
    /// The member refused the request, and it needs a correction.
    Refused {
        /// The error code, such as `not_found`.
        code: String,
        /// The text.
        message: String,
    },
    /// An option is wrong.
    Options(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Error::Destroyed(text) | Error::Exhausted(text) | Error::Ended(text) => text,
            Error::Timeout(text) | Error::Options(text) => text,
            Error::Refused { message, .. } => message,
        })
    }
}

impl std::error::Error for Error {}
