"""Certificates that hold for the loopback and nothing else, and keys that nobody else can read."""

import datetime
import stat

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_ssh_private_key, load_ssh_public_key

from heteroselect.errors import HeteroSelectError
from heteroselect.flower.keys import CA, CERTIFICATE, KEY, make_node_key, make_tls


def test_the_authority_vouches_for_the_loopback(tmp_path):
    make_tls(tmp_path)
    ca, certificate = (x509.load_pem_x509_certificate((tmp_path / name).read_bytes()) for name in (CA, CERTIFICATE))
    certificate.verify_directly_issued_by(ca)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]
    assert certificate.not_valid_after_utc - certificate.not_valid_before_utc < datetime.timedelta(days=31)
    assert ca.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert not certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def test_private_keys_are_the_users_alone_and_fit_their_public_ones(tmp_path):
    make_tls(tmp_path / "keys")
    private, public = make_node_key(tmp_path / "keys", "node")
    for path in (tmp_path / "keys" / KEY, private):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    key = load_ssh_private_key(private.read_bytes(), None)
    assert key.public_key() == load_ssh_public_key(public.read_bytes())
    other, _ = make_node_key(tmp_path / "keys", "other")
    assert other.read_bytes() != private.read_bytes()


def test_a_certificate_for_others_names_the_hosts_by_which_they_come(tmp_path):
    make_tls(tmp_path, ["192.0.2.1", "server.example", "localhost"], days=3)
    certificate = x509.load_pem_x509_certificate((tmp_path / CERTIFICATE).read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost", "server.example"]
    assert [str(one) for one in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "192.0.2.1"]
    assert certificate.not_valid_after_utc - certificate.not_valid_before_utc < datetime.timedelta(days=4)
    with pytest.raises(HeteroSelectError, match=r"--server: 'no host' is neither"):
        make_tls(tmp_path / "keys", ["no host"])
