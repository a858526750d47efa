"""Certificates and keys for a deployment with TLS: an authority of its own, the SuperLink's certificate, and a key
pair for each SuperNode. Those of `deploy` are made for one run and live in its private folder."""

import hashlib
import ipaddress
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import SECP384R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_ssh_public_key,
)
from cryptography.x509.oid import NameOID

from heteroselect.errors import HeteroSelectError

LOOPBACK = "127.0.0.1"
CA, CERTIFICATE, KEY = "ca.crt", "server.pem", "server.key"
_UNUSED = dict.fromkeys(
    ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only", "decipher_only"),
    False,
)


def make_tls(folder: Path, hosts: Sequence[str] = (), days: int = 30) -> None:
    """Write an authority and a certificate for the loopback and for these names and addresses; the authority's key is
    not kept, so that nobody can make another certificate that nodes would believe."""
    names = [_host(name) for name in dict.fromkeys(("localhost", LOOPBACK, *hosts))]
    authority, server = generate_private_key(SECP384R1()), generate_private_key(SECP384R1())
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    (folder / CA).write_bytes(_certified(authority, authority, days))
    (folder / CERTIFICATE).write_bytes(_certified(server, authority, days, names))
    _write_private(folder / KEY, server, PrivateFormat.PKCS8)


def make_node_key(folder: Path, name: str) -> tuple[Path, Path]:
    """The private and the public key of a SuperNode, as OpenSSH writes them."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    key = generate_private_key(SECP384R1())
    private, public = folder / name, folder / f"{name}.pub"
    _write_private(private, key, PrivateFormat.OpenSSH)
    public.write_bytes(key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH) + b"\n")
    return private, public


def digest_of(public: Path) -> str:
    """What a node with this key is known by: the SHA-256 of the key in the form that Flower hands on."""
    try:
        key = load_ssh_public_key(public.read_bytes())
    except (UnsupportedAlgorithm, ValueError) as error:
        raise HeteroSelectError(f"--key: {public} is no public key as OpenSSH writes them.") from error
    return hashlib.sha256(key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def _host(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?", name):
            raise HeteroSelectError(f"--server: {name!r} is neither a host's name nor its address.") from None
        return x509.DNSName(name)


def _certified(
    key: EllipticCurvePrivateKey, authority: EllipticCurvePrivateKey, days: int, names: Sequence[x509.GeneralName] = ()
) -> bytes:
    """The authority's certificate of a server's key, which is for these names; or of its own."""
    ca, title, now = key is authority, "heteroselect authority", datetime.now(UTC)
    usage = x509.KeyUsage(digital_signature=not ca, key_cert_sign=ca, crl_sign=ca, **_UNUSED)
    issued = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key())
    certificate = (
        x509.CertificateBuilder()
        .subject_name(_name(title if ca else "localhost"))
        .issuer_name(_name(title))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=0 if ca else None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(issued, critical=False)
    )
    if names:
        certificate = certificate.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return certificate.sign(authority, hashes.SHA384()).public_bytes(Encoding.PEM)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _write_private(path: Path, key: EllipticCurvePrivateKey, form: PrivateFormat) -> None:
    """Nobody else can read a private key, not even for a moment."""
    path.touch(0o600, exist_ok=False)
    path.write_bytes(key.private_bytes(Encoding.PEM, form, NoEncryption()))
