"""Issues certificates: one authority per job, whose key never leaves the operator's Secret, and one
certificate for the job's pods."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from understudy.process.credentials import SUBJECT, Credentials

AUTHORITY_YEARS: Final = 20
CLOCK_SKEW: Final = timedelta(hours=1)

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Authority:
    certificate: bytes
    key: bytes


def new_authority(job: str, now: datetime) -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name(f"understudy authority of {job}")
    made = (
        _builder(name, name, key, now, now + timedelta(days=365 * AUTHORITY_YEARS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    return Authority(_pem(made), _key_pem(key))


def issue(authority: Authority, until: datetime, now: datetime) -> Credentials:
    """For both ends of a connection: every pod of a job is a server and a client."""
    issuer = x509.load_pem_x509_certificate(authority.certificate)
    signer = serialization.load_pem_private_key(authority.key, None)
    if not isinstance(signer, ec.EllipticCurvePrivateKey):
        raise ValueError("the authority's key is not one of ours")
    key = ec.generate_private_key(ec.SECP256R1())
    both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    made = (
        _builder(_name(SUBJECT), issuer.subject, key, now, until)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(both), critical=False)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(SUBJECT)]), critical=False)
        .sign(signer, hashes.SHA256())
    )
    return Credentials(authority.certificate, _pem(made), _key_pem(key))


def moment(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


# ---- as the data of Secrets ------------------------------------------------------------------------------


def authority_data(authority: Authority) -> Json:
    return {"tls.crt": _text(authority.certificate), "tls.key": _text(authority.key)}


def read_authority(data: Json) -> Authority:
    return Authority(base64.b64decode(data["tls.crt"]), base64.b64decode(data["tls.key"]))


def credentials_data(made: Credentials) -> Json:
    return {"ca.crt": _text(made.authority), "tls.crt": _text(made.certificate), "tls.key": _text(made.key)}


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


# ---- X.509 -----------------------------------------------------------------------------------------------


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime, until: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(until)
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common[:64])])


def _usage(signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(made: x509.Certificate) -> bytes:
    return made.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    plain = serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
