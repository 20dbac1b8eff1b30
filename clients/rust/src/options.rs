use crate::http::{Http, Transport};
use crate::json::quote;
use crate::{Error, Generator};
use std::fmt::Write;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub(crate) type Token = Arc<dyn Fn() -> std::io::Result<String> + Send + Sync>;

/// The definition of a sequencer that is created; see `POST /v1/ids` in docs/http.md.
#[derive(Clone, Debug, Default)]
pub struct Create {
    /// Unix milliseconds. Default: the layout's.
    pub epoch: Option<i64>,
    /// The number of logical nodes. Default: the layout's.
    pub nodes: Option<u32>,
    /// A name such as `jssafe`, or a JSON object such as `{"bits":53,"low_bits":12,"nodes":64}`.
    pub layout: Option<String>,
    /// The lowest and the highest node of holders, if another generator has the others.
    pub node_range: Option<(u16, u16)>,
}

impl Create {
    pub(crate) fn json(&self) -> String {
        let mut fields = Vec::new();
        fields.extend(self.epoch.map(|epoch| format!("\"epoch\":{epoch}")));
        fields.extend(self.nodes.map(|nodes| format!("\"nodes\":{nodes}")));
        fields.extend(self.layout.as_ref().map(|layout| match layout.starts_with('{') {
            true => format!("\"layout\":{layout}"),
            false => format!("\"layout\":{}", quote(layout)),
        }));
        fields.extend(
            self.node_range.map(|(lo, hi)| format!("\"node_range\":{{\"lo\":{lo},\"hi\":{hi}}}")),
        );
        format!("{{{}}}", fields.join(","))
    }
}

/// Options of a generator. Each method sets one and returns the options.
#[derive(Clone)]
pub struct Options {
    pub(crate) name: String,
    pub(crate) addresses: Vec<String>,
    pub(crate) create: Option<Create>,
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) token: Option<Token>,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) call_timeout: Duration,
    pub(crate) background: bool,
    pub(crate) fork_check: bool,
    pub(crate) insecure: bool,
}

impl Options {
    /// Options for a sequencer, with base addresses such as `https://ids.internal:7948`.
    pub fn new<S: Into<String>>(name: &str, addresses: impl IntoIterator<Item = S>) -> Options {
        let base = |a: S| a.into().trim_end_matches('/').to_owned();
        Options {
            name: name.to_owned(),
            addresses: addresses.into_iter().map(base).collect(),
            create: None,
            labels: Vec::new(),
            token: None,
            transport: Arc::new(Http::new()),
            call_timeout: Duration::from_secs(2),
            background: true,
            fork_check: true,
            insecure: false,
        }
    }

    /// Creates the sequencer if it does not exist.
    pub fn create(mut self, create: Create) -> Options {
        self.create = Some(create);
        self
    }

    /// Adds a label such as host or service, which `snowgrid holders` prints; at most 16.
    pub fn label(mut self, name: &str, value: &str) -> Options {
        self.labels.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The bearer token.
    pub fn token(self, token: &str) -> Options {
        let token = token.to_owned();
        self.token_from(move || Ok(token.clone()))
    }

    /// A file with the bearer token, read for each request.
    pub fn token_file(self, path: impl Into<PathBuf>) -> Options {
        let path = path.into();
        self.token_from(move || Ok(std::fs::read_to_string(&path)?.trim().to_owned()))
    }

    /// Returns the bearer token for each request, so that it can be rotated.
    pub fn token_from(
        mut self,
        token: impl Fn() -> std::io::Result<String> + Send + Sync + 'static,
    ) -> Options {
        self.token = Some(Arc::new(token));
        self
    }

    /// Sends the requests, for instance over TLS. Default: plain HTTP.
    pub fn transport(mut self, transport: impl Transport + 'static) -> Options {
        self.transport = Arc::new(transport);
        self
    }

    /// The longest time for one request. Default: 2 s.
    pub fn call_timeout(mut self, timeout: Duration) -> Options {
        self.call_timeout = timeout;
        self
    }

    /// Whether a thread renews the grant. If not, calls for an ID do. Default: true.
    pub fn background(mut self, background: bool) -> Options {
        self.background = background;
        self
    }

    /// Whether each call checks that this process is no new child (G9). The system call for that
    /// takes longer than the ID. Without it, a child process must not use the generator of its
    /// parent. Default: true.
    pub fn fork_check(mut self, check: bool) -> Options {
        self.fork_check = check;
        self
    }

    /// Whether http:// to other hosts is allowed: a token can be read on the way. Default: false.
    pub fn insecure(mut self, insecure: bool) -> Options {
        self.insecure = insecure;
        self
    }

    /// Returns a generator. It does no I/O; the first request is sent in the background or by the
    /// first call.
    pub fn generator(self) -> Result<Generator, Error> {
        if self.name.is_empty() || self.addresses.is_empty() {
            return Err(Error::Options(
                "snowgrid: give a sequencer name and at least one address".to_owned(),
            ));
        }
        for address in &self.addresses {
            if !self.insecure && address.starts_with("http://") && !loopback(address) {
                return Err(Error::Options(format!(
                    "snowgrid: the address {address} is in clear text and not of this host; give \
                     https://, or insecure(true)"
                )));
            }
            self.transport.check(address).map_err(|e| {
                Error::Options(format!("snowgrid: the address {address} cannot be used: {e}"))
            })?;
        }
        Ok(Generator::new(self))
    }

    /// Returns the body of a request with this grant, "" for none (G11). It is public for
    /// tests/conformance.rs alone.
    #[doc(hidden)]
    pub fn body(&self, grant: &str, ids: u64, waits: u64) -> String {
        let mut body = match (grant, &self.create) {
            ("", Some(create)) => {
                format!("{{\"name\":{},\"create\":{}", quote(&self.name), create.json())
            }
            ("", None) => format!("{{\"name\":{}", quote(&self.name)),
            _ => format!("{{\"grant\":{}", quote(grant)),
        };
        let _ = write!(body, ",\"used\":{{\"ids\":{ids},\"waits\":{waits}}}");
        if !self.labels.is_empty() {
            let label = |l: &(String, String)| format!("{}:{}", quote(&l.0), quote(&l.1));
            let labels: Vec<String> = self.labels.iter().map(label).collect();
            let _ = write!(body, ",\"labels\":{{{}}}", labels.join(","));
        }
        body + "}"
    }

    /// Returns the body of the release of a grant (G10): last is a timestamp, 0 for none. It is
    /// public for tests/conformance.rs alone.
    #[doc(hidden)]
    pub fn release(grant: &str, last: i64, ids: u64, waits: u64) -> String {
        let used = format!("\"used\":{{\"ids\":{ids},\"waits\":{waits}}}");
        format!("{{\"grant\":{},\"last\":{last},{used}}}", quote(grant))
    }
}

/// Returns whether an address with http:// is of this host.
fn loopback(address: &str) -> bool {
    let host = address.trim_start_matches("http://");
    if let Some((host, _)) = host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        return host == "::1";
    }
    let host = host.split(':').next().unwrap_or("");
    host == "localhost" || host.parse::<Ipv4Addr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::Create;

    #[test]
    fn create_has_the_stated_fields_alone() {
        let all = Create {
            epoch: Some(7),
            nodes: Some(64),
            layout: Some("jssafe".to_owned()),
            node_range: Some((32, 63)),
        };
        assert_eq!(
            all.json(),
            r#"{"epoch":7,"nodes":64,"layout":"jssafe","node_range":{"lo":32,"hi":63}}"#
        );
        assert_eq!(Create::default().json(), "{}");
    }
}
