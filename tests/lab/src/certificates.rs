//! Certificate authorities and leaves, made afresh for every federation. Pure: no files, no sockets.

use std::io;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// A certificate authority that signs the leaves of one cluster.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    pem: String,
}

/// A leaf certificate with its private key.
pub(crate) struct Leaf {
    pub(crate) certificate: CertificateDer<'static>,
    pub(crate) certificate_pem: String,
    pub(crate) key_pem: String,
    key_der: Vec<u8>,
}

impl Authority {
    /// A new self-signed authority whose subject is `common_name`.
    pub(crate) fn new(common_name: &str) -> Self {
        let params = authority_params(common_name);
        let key = KeyPair::generate().expect("ring generates P-256 keys");
        let certificate = params
            .self_signed(&key)
            .expect("the parameters hold no invalid names");
        Self {
            pem: certificate.pem(),
            certificate: certificate.der().clone(),
            issuer: Issuer::new(params, key),
        }
    }

    /// The authority that another process wrote down as PEM.
    pub(crate) fn restore(common_name: &str, certificate: &str, key: &str) -> io::Result<Self> {
        let key = KeyPair::from_pem(key).map_err(io::Error::other)?;
        Ok(Self {
            issuer: Issuer::new(authority_params(common_name), key),
            certificate: CertificateDer::from_pem_slice(certificate.as_bytes())
                .map_err(io::Error::other)?,
            pem: certificate.to_owned(),
        })
    }

    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }

    /// The private key as PKCS#8 PEM.
    pub(crate) fn key_pem(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    pub(crate) fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// A serving certificate for the given names and addresses.
    pub(crate) fn serving(&self, common_name: &str, names: &[String]) -> Leaf {
        let params = CertificateParams::new(names.to_vec())
            .expect("names of the lab are valid DNS names or addresses");
        self.sign(
            params,
            subject(common_name, None),
            ExtendedKeyUsagePurpose::ServerAuth,
        )
    }

    /// A client certificate: user `common_name` in `group`.
    pub(crate) fn client(&self, common_name: &str, group: Option<&str>) -> Leaf {
        self.sign(
            CertificateParams::default(),
            subject(common_name, group),
            ExtendedKeyUsagePurpose::ClientAuth,
        )
    }

    fn sign(
        &self,
        mut params: CertificateParams,
        subject: DistinguishedName,
        usage: ExtendedKeyUsagePurpose,
    ) -> Leaf {
        params.distinguished_name = subject;
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyEncipherment,
        ];
        params.extended_key_usages = vec![usage];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().expect("ring generates P-256 keys");
        let certificate = params
            .signed_by(&key, &self.issuer)
            .expect("the authority may sign");
        Leaf {
            certificate: certificate.der().clone(),
            certificate_pem: certificate.pem(),
            key_pem: key.serialize_pem(),
            key_der: key.serialize_der(),
        }
    }
}

impl Leaf {
    /// What must never be seen of the private key: the lines of its PEM that hold some of it.
    pub(crate) fn key_lines(&self) -> impl Iterator<Item = String> {
        let lines = self.key_pem.lines();
        lines
            .filter(|line| !line.starts_with("-----"))
            // What follows is the public key (RFC 5915, section 3), which certificates show.
            .take(2)
            .map(str::to_owned)
    }

    pub(crate) fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key_der.clone()))
    }
}

/// The TLS provider that every part of the lab names explicitly, so that no process-wide default is needed.
pub(crate) fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// A key pair that signs service account tokens: private and public PEM.
pub(crate) fn signing_key() -> (String, String) {
    let key = KeyPair::generate().expect("ring generates P-256 keys");
    (key.serialize_pem(), key.public_key_pem())
}

fn authority_params(common_name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = subject(common_name, None);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::CrlSign,
    ];
    params
}

fn subject(common_name: &str, group: Option<&str>) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    if let Some(group) = group {
        name.push(DnType::OrganizationName, group);
    }
    name.push(DnType::CommonName, common_name);
    name
}
