"""Certificates and keys for a deployment with TLS: an authority of its own, the SuperLink's certificate, and a key
pair for each SuperNode. Those of `deploy` are made for one run and live in its private folder."""

import datetime
import hashlib
import ipaddress
import os
import re
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from heteroselect.errors import HeteroSelectError
from heteroselect.flower.processes import LOOPBACK, Tls

_DAYS = 30


def make_tls(folder: Path, hosts: Sequence[str] = (), days: int = _DAYS) -> Tls:
    """An authority and a certificate for the loopback and for these names and addresses; the authority's key is not
    kept, so that nobody can make another certificate that nodes would believe."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority, server = ec.generate_private_key(ec.SECP384R1()), ec.generate_private_key(ec.SECP384R1())
    title = "heteroselect authority"
    ca = (
        _certificate(title, title, authority.public_key(), days)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(sign_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority.public_key()), critical=False)
        .sign(authority, hashes.SHA384())
    )
    names = [_host(name) for name in dict.fromkeys(("localhost", LOOPBACK, *hosts))]
    own = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key())
    certificate = (
        _certificate("localhost", title, server.public_key(), days)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(sign_certificates=False), critical=True)
        .add_extension(own, critical=False)
        .sign(authority, hashes.SHA384())
    )
    tls = Tls(folder / "ca.crt", folder / "server.pem", folder / "server.key")
    _write(tls.ca, ca.public_bytes(serialization.Encoding.PEM))
    _write(tls.certificate, certificate.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8
    plain = serialization.NoEncryption()
    _write(tls.key, server.private_bytes(serialization.Encoding.PEM, form, plain), mode=0o600)
    return tls


def make_node_key(folder: Path, name: str) -> tuple[Path, Path]:
    """The private and the public key of a SuperNode, as OpenSSH writes them."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    key = ec.generate_private_key(ec.SECP384R1())
    private, public = folder / name, folder / f"{name}.pub"
    encoding, plain = serialization.Encoding, serialization.NoEncryption()
    _write(private, key.private_bytes(encoding.PEM, serialization.PrivateFormat.OpenSSH, plain), mode=0o600)
    _write(public, key.public_key().public_bytes(encoding.OpenSSH, serialization.PublicFormat.OpenSSH) + b"\n")
    return private, public


def digest_of(public: Path) -> str:
    """What a node with this key is known by: the SHA-256 of the key in the form that Flower hands on."""
    try:
        key = serialization.load_ssh_public_key(public.read_bytes())
    except (UnsupportedAlgorithm, ValueError) as error:
        raise HeteroSelectError(f"--key: {public} is no public key as OpenSSH writes them.") from error
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return hashlib.sha256(key.public_bytes(serialization.Encoding.PEM, form)).hexdigest()


def _host(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?", name):
            raise HeteroSelectError(f"--server: {name!r} is neither a host's name nor its address.") from None
        return x509.DNSName(name)


def _certificate(subject: str, issuer: str, key: ec.EllipticCurvePublicKey, days: int) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name(issuer))
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + datetime.timedelta(days=days))
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _usage(*, sign_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not sign_certificates,
        key_cert_sign=sign_certificates,
        crl_sign=sign_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _write(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Nobody else can read a private key, not even for a moment."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
