from cluster.etcd.tokens import TokenBox


def test_without_a_user_there_is_nothing_to_log_in_for() -> None:
    token = TokenBox(has_user=False).current
    assert token is not None
    assert token.text == ""


def test_a_token_serves_until_it_is_dropped() -> None:
    box = TokenBox(has_user=True)
    assert box.current is None
    token = box.put("abc")
    assert box.current is token
    box.drop(token)
    assert box.current is None


def test_a_late_refusal_of_an_old_token_does_not_drop_the_new_one() -> None:
    box = TokenBox(has_user=True)
    old = box.put("abc")
    box.drop(old)
    new = box.put("abc")
    box.drop(old)
    assert box.current is new
