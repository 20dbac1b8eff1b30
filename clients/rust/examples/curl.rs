//! Sends the requests over TLS by the program curl, as an example of a transport:
//! `cargo run --example curl https://localhost:7948 ca.crt holder.crt holder.key`

use snowgrid::http::{Answer, Request, MEMBER};
use snowgrid::{Create, Options, Transport};
use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

struct Curl {
    ca: String,
    cert: String,
    key: String,
}

impl Transport for Curl {
    fn send(&self, r: &Request<'_>) -> io::Result<Answer> {
        let mut child = Command::new("curl")
            .args(["--silent", "--show-error", "--config", "-", "--cacert", &self.ca])
            .args(["--cert", &self.cert, "--key", &self.key, "--write-out", "\n%{http_code}"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        // Arguments are visible to other users, so the body and the token are in a configuration.
        let quote = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        let token = r.token.map_or(String::new(), |token| {
            format!("header = \"Authorization: Bearer {}\"\n", quote(token))
        });
        // curl dials the host, and checks the name that the certificate of each member has.
        let host = r.base.trim_start_matches("https://");
        let config = format!(
            "url = \"https://{MEMBER}{}\"\nconnect-to = \"::{host}\"\n\
             request = {}\nmax-time = {:.3}\n{token}\
             header = \"Content-Type: application/json\"\ndata-raw = \"{}\"\n",
            r.path,
            r.method,
            r.timeout.as_secs_f64(),
            quote(r.body)
        );
        child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(config.as_bytes()))?;
        let output = child.wait_with_output()?;
        if !output.status.success() {
            return Err(io::Error::other(
                String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            ));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let (body, status) = text.rsplit_once('\n').unwrap_or(("", &text));
        let status = status.trim().parse().map_err(io::Error::other)?;
        Ok(Answer { status, body: body.to_owned() })
    }
}

fn main() -> Result<(), snowgrid::Error> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [address, ca, cert, key] = args.as_slice() else {
        panic!("give an address, and files with the authority, a certificate and its key");
    };
    let curl = Curl { ca: ca.clone(), cert: cert.clone(), key: key.clone() };
    let options = Options::new("orders", [address]).create(Create::default()).transport(curl);
    let ids = options.generator()?;
    for id in ids.next_many(3, Duration::from_secs(5))? {
        println!("{id}");
    }
    Ok(())
}
