//! TLS for the crate snowgrid, from PEM files, by native-tls: OpenSSL, SChannel or Secure Transport.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! let http = snowgrid_tls::Tls::new().ca_file("ca.crt").http()?;
//! let ids = snowgrid::Options::new("orders", ["https://ids.internal:7948"])
//!     .transport(http)
//!     .token_file("token")
//!     .generator()?;
//! let id: i64 = ids.next(Duration::from_secs(5))?;
//! # Ok::<(), snowgrid::Error>(())
//! ```
#![forbid(unsafe_code)]

use native_tls::{Certificate, HandshakeError, Identity, TlsConnector};
use snowgrid::http::MEMBER;
use snowgrid::{Error, Http};
use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

const END: &str = "-----END CERTIFICATE-----";

/// Options of TLS. Each method sets one and returns the options. The files are read for each
/// connection, so they can be rotated.
#[derive(Clone, Debug, Default)]
pub struct Tls {
    ca_file: Option<PathBuf>,
    certificate: Option<(PathBuf, PathBuf)>,
    server_name: Option<String>,
}

impl Tls {
    /// Options that trust the authorities of the system.
    pub fn new() -> Tls {
        Tls::default()
    }

    /// A file with the certificates of the authorities to trust, in place of the system's.
    pub fn ca_file(mut self, path: impl Into<PathBuf>) -> Tls {
        self.ca_file = Some(path.into());
        self
    }

    /// Files with the client certificate, and its key in PKCS#8.
    pub fn certificate(mut self, cert: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Tls {
        self.certificate = Some((cert.into(), key.into()));
        self
    }

    /// The name in the certificate of the server. Default: `member.snowgrid`, which each member
    /// has, if a CA file is given; else the host of the address. An empty name stands for that host
    /// too.
    pub fn server_name(mut self, name: &str) -> Tls {
        self.server_name = Some(name.to_owned());
        self
    }

    /// Returns a transport for addresses with https://. It is an error if a file cannot be used.
    pub fn http(self) -> Result<Http, Error> {
        self.connector().map_err(|e| Error::Options(format!("snowgrid: TLS: {e}")))?;
        Ok(Http::new().tls(move |host, tcp| Ok(Box::new(self.connect(host, tcp)?))))
    }

    fn connect(&self, host: &str, tcp: TcpStream) -> io::Result<native_tls::TlsStream<TcpStream>> {
        let own = if self.ca_file.is_some() { MEMBER } else { "" };
        let name = match self.server_name.as_deref().unwrap_or(own) {
            "" => host,
            name => name,
        };
        self.connector()?.connect(name, tcp).map_err(|e| match e {
            HandshakeError::Failure(e) => io::Error::other(e),
            HandshakeError::WouldBlock(_) => {
                io::Error::new(ErrorKind::TimedOut, "no reply in time")
            }
        })
    }

    fn connector(&self) -> io::Result<TlsConnector> {
        let mut builder = TlsConnector::builder();
        if let Some(file) = &self.ca_file {
            builder.disable_built_in_roots(true);
            for certificate in authorities(file)? {
                builder.add_root_certificate(certificate);
            }
        }
        if let Some((cert, key)) = &self.certificate {
            let both = Identity::from_pkcs8(&read(cert)?, &read(key)?);
            builder.identity(both.map_err(|e| wrong(cert, &e.to_string()))?);
        }
        builder.build().map_err(|e| match &self.certificate {
            Some((cert, key)) => wrong(cert, &format!("with the key {}: {e}", key.display())),
            None => io::Error::other(e),
        })
    }
}

/// Returns the certificates in a file: there are two while the authority is replaced.
fn authorities(file: &Path) -> io::Result<Vec<Certificate>> {
    let text = String::from_utf8_lossy(&read(file)?).into_owned();
    let one = |part: &str| {
        Certificate::from_pem((part.to_owned() + END + "\n").as_bytes())
            .map_err(|e| wrong(file, &e.to_string()))
    };
    let mut parts: Vec<&str> = text.split(END).collect();
    parts.pop(); // what follows the last one
    if parts.is_empty() {
        return Err(wrong(file, "it has no certificate in PEM"));
    }
    parts.into_iter().map(one).collect()
}

fn read(file: &Path) -> io::Result<Vec<u8>> {
    std::fs::read(file).map_err(|e| wrong(file, &e.to_string()))
}

fn wrong(file: &Path, why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("{}: {why}", file.display()))
}
