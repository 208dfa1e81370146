//! The way to a server: directly, or through a proxy.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use karmada_repair::cluster::client::ClusterClient;
use karmada_repair::error::chain;
use secrecy::ExposeSecret;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use url::Url;

use crate::config::address;
use crate::observed::{Target, Way};

/// A connection of any kind.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// Connects to a server, and speaks nothing with it yet.
pub(super) async fn connect(
    target: &Target,
    host: Option<&ClusterClient>,
) -> Result<Box<dyn Stream>, String> {
    match &target.way {
        Way::Direct => Ok(Box::new(tcp(&target.dialled, target.port).await?)),
        Way::Proxy(proxy) => {
            let proxy = Url::parse(proxy.expose_secret())
                .map_err(|_| "the URL of its proxy cannot be understood".to_owned())?;
            through(&proxy, target).await
        }
        Way::Forward {
            namespace,
            pod,
            port,
        } => {
            let host = host.ok_or_else(|| "no access to the host cluster was given".to_owned())?;
            let stream = host.port_forward(namespace, pod, *port).await;
            Ok(Box::new(stream.map_err(|error| chain(&error))?))
        }
    }
}

async fn tcp(host: &str, port: u16) -> Result<TcpStream, String> {
    TcpStream::connect((host, port))
        .await
        .map_err(|error| format!("cannot connect to {}: {error}", address(host, port)))
}

async fn through(proxy: &Url, target: &Target) -> Result<Box<dyn Stream>, String> {
    let host = proxy
        .host_str()
        .unwrap_or_default()
        .trim_matches(['[', ']'])
        .to_owned();
    let port = proxy.port_or_known_default().unwrap_or(1080);
    let named = |reason: String| format!("through the proxy {}: {reason}", address(&host, port));
    let mut stream = tcp(&host, port).await.map_err(named)?;
    let ended = match proxy.scheme() {
        "http" => http_connect(&mut stream, proxy, target).await,
        "socks5" | "socks5h" => socks5(&mut stream, proxy, target).await,
        other => Err(format!(
            "proxies of the kind {other} are not spoken to here"
        )),
    };
    ended.map_err(named)?;
    Ok(Box::new(stream))
}

/// HTTP CONNECT (RFC 9110, 9.3.6).
async fn http_connect(stream: &mut TcpStream, proxy: &Url, target: &Target) -> Result<(), String> {
    let to = address(&target.dialled, target.port);
    let mut request = format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n");
    if !proxy.username().is_empty() {
        let user = format!(
            "{}:{}",
            decoded(proxy.username()),
            decoded(proxy.password().unwrap_or_default())
        );
        request.push_str(&format!(
            "Proxy-Authorization: Basic {}\r\n",
            STANDARD.encode(user)
        ));
    }
    request.push_str("\r\n");
    stream
        .write_all(request.as_bytes())
        .await
        .map_err(|error| error.to_string())?;
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        let read = stream
            .read(&mut byte)
            .await
            .map_err(|error| error.to_string())?;
        if read == 0 || answer.len() > LONGEST_ANSWER {
            return Err("it does not answer as a proxy does".to_owned());
        }
        answer.push(byte[0]);
    }
    let status = String::from_utf8_lossy(&answer);
    let mut words = status.lines().next().unwrap_or_default().split(' ');
    match (words.next(), words.next()) {
        (Some(version), Some("200")) if version.starts_with("HTTP/1.") => Ok(()),
        (Some(version), Some(code)) if version.starts_with("HTTP/1.") => {
            Err(format!("it refuses with {code}"))
        }
        _ => Err("it does not answer as a proxy does".to_owned()),
    }
}

/// SOCKS version 5 (RFC 1928, RFC 1929); names are resolved by the proxy.
async fn socks5(stream: &mut TcpStream, proxy: &Url, target: &Target) -> Result<(), String> {
    let io = |error: std::io::Error| error.to_string();
    let user = decoded(proxy.username());
    let methods: &[u8] = match user.is_empty() {
        true => &[5, 1, 0],
        false => &[5, 2, 0, 2],
    };
    stream.write_all(methods).await.map_err(io)?;
    let mut chosen = [0; 2];
    stream.read_exact(&mut chosen).await.map_err(io)?;
    match chosen {
        [5, 0] => {}
        [5, 2] => {
            let password = decoded(proxy.password().unwrap_or_default());
            let mut login = vec![1];
            for word in [&user, &password] {
                login.push(
                    u8::try_from(word.len()).map_err(|_| "its login is too long".to_owned())?,
                );
                login.extend(word.as_bytes());
            }
            stream.write_all(&login).await.map_err(io)?;
            let mut answer = [0; 2];
            stream.read_exact(&mut answer).await.map_err(io)?;
            if answer[1] != 0 {
                return Err("it refuses the login".to_owned());
            }
        }
        [5, _] => return Err("it wants a login".to_owned()),
        _ => return Err("it does not answer as a SOCKS proxy does".to_owned()),
    }
    let mut request = vec![5, 1, 0];
    match target.dialled.parse::<std::net::IpAddr>() {
        Ok(std::net::IpAddr::V4(ip)) => {
            request.push(1);
            request.extend(ip.octets());
        }
        Ok(std::net::IpAddr::V6(ip)) => {
            request.push(4);
            request.extend(ip.octets());
        }
        Err(_) => {
            let name = target.dialled.as_bytes();
            request.push(3);
            request.push(u8::try_from(name.len()).map_err(|_| "the name is too long".to_owned())?);
            request.extend(name);
        }
    }
    request.extend(target.port.to_be_bytes());
    stream.write_all(&request).await.map_err(io)?;
    let mut answer = [0; 4];
    stream.read_exact(&mut answer).await.map_err(io)?;
    if answer[1] != 0 {
        return Err(format!("it refuses with SOCKS code {}", answer[1]));
    }
    let rest = match answer[3] {
        1 => 4,
        4 => 16,
        3 => usize::from(stream.read_u8().await.map_err(io)?),
        _ => return Err("it does not answer as a SOCKS proxy does".to_owned()),
    };
    let mut bound = vec![0; rest + 2];
    stream.read_exact(&mut bound).await.map_err(io)?;
    Ok(())
}

/// A part of a URL without its percent encoding.
fn decoded(text: &str) -> String {
    let pair = format!("x={}", text.replace('+', "%2B"));
    url::form_urlencoded::parse(pair.as_bytes())
        .next()
        .map_or(String::new(), |(_, value)| value.into_owned())
}

const LONGEST_ANSWER: usize = 16 * 1024;
