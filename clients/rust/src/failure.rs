use crate::grant::Reply;
use crate::http::Answer;
use crate::json;

const RETRY_MAX: i64 = 3_600_000; // ms

/// An error of a request.
#[derive(Clone)]
pub(crate) struct Failure {
    pub(crate) code: String, // "" without a reply
    pub(crate) text: String,
    pub(crate) retry_after: i64,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.code.as_str() {
            "" => write!(f, "{}", self.text),
            code => write!(f, "{} ({code})", self.text),
        }
    }
}

/// Returns the grant in an answer of `to`.
pub(crate) fn read(to: &str, answer: &Answer) -> Result<Reply, Failure> {
    let value = json::read(&answer.body).unwrap_or(json::Value::Null);
    if answer.status == 200 {
        let text = |e| format!("{to}: {e}");
        return Reply::read(&value).map_err(|e| Failure {
            code: String::new(),
            text: text(e),
            retry_after: 0,
        });
    }
    let message = value.text("message").unwrap_or(match answer.status {
        400 if to.starts_with("http://") => {
            "no message; it may be another server; give https:// if it speaks TLS"
        }
        _ => "no message; it may be another server",
    });
    Err(Failure {
        code: value.text("code").unwrap_or("").to_owned(),
        text: format!("{to} answers HTTP {}: {message}", answer.status),
        retry_after: value.int("retry_after_ms").unwrap_or(0).clamp(0, RETRY_MAX),
    })
}
