"""One authority after the other: whoever has an earlier or a later `ca.pem` trusts what is in use."""

import pytest
from cryptography import x509

from app.pki.authority import Authority
from app.pki.certificate_file import read_x509
from app.pki.pki_error import PkiError
from app.pki.private_key import new_private_key
from app.pki.trust import Trust
from tests.support.own_authority import made_authority, signed

OLD, NEW = made_authority(), made_authority()
BEFORE = Trust((OLD.certificate,), OLD.key)
MADE = Trust((NEW.certificate, OLD.certificate), OLD.key, NEW.key)
RENEWED = Trust((NEW.certificate, OLD.certificate), NEW.key)


def certificate_by(authority: Authority) -> x509.Certificate:
    return read_x509(signed(authority)[0])[0]


def test_who_signs() -> None:
    assert (BEFORE.signer(), BEFORE.newest()) == (OLD, OLD)
    assert (MADE.signer(), MADE.newest()) == (OLD, NEW)
    assert (RENEWED.signer(), RENEWED.newest()) == (NEW, NEW)


def test_a_key_that_an_interrupted_beginning_left_signs_nothing() -> None:
    left = Trust((OLD.certificate,), OLD.key, new_private_key())
    assert (left.signer(), left.newest()) == (OLD, OLD)
    left.check_start()


def test_the_key_of_another_authority() -> None:
    with pytest.raises(PkiError, match=r"the key in ca-key.pem belongs to no certificate in ca.pem"):
        Trust((OLD.certificate,), NEW.key).signer()
    with pytest.raises(PkiError, match=r"ca-next-key.pem"):
        Trust(MADE.authorities, OLD.key, new_private_key()).newest()


def test_a_rotation_begins_once() -> None:
    BEFORE.check_start()
    for trust in (MADE, RENEWED):
        with pytest.raises(PkiError, match="a rotation is under way"):
            trust.check_start()


def test_it_ends_when_the_new_one_has_signed_everything() -> None:
    by_old, by_new = certificate_by(OLD), certificate_by(NEW)
    with pytest.raises(PkiError, match="no rotation is under way"):
        BEFORE.check_finish({})
    for trust in (MADE, RENEWED):
        with pytest.raises(PkiError, match="not signed by the new authority yet: a, c"):
            trust.check_finish({"c": by_old, "b": by_new, "a": certificate_by(made_authority())})
        trust.check_finish({"b": by_new})


def test_who_has_signed_what() -> None:
    assert MADE.name_of_signer(certificate_by(OLD)) == OLD.name
    assert MADE.name_of_signer(certificate_by(NEW)) == NEW.name
    assert MADE.name_of_signer(certificate_by(made_authority())) == ""
