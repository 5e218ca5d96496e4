# SPDX-License-Identifier: GPL-2.0-only
"""What the tests of python_inc.py are made with: the list of them, and expectations."""
import re

TESTS = []


def test(function):
    TESTS.append(function)
    return function


def expect(what, got, want):
    if got != want:
        raise AssertionError(f"{what} is {got!r}, expected {want!r}")


def raises(kind, text, function, *args, **options):
    """Exactly this exception, with this pattern in its text."""
    try:
        function(*args, **options)
    except Exception as error:
        if type(error) is not kind or not re.search(text, str(error)):
            raise AssertionError(
                f"{type(error).__name__}: {error}; expected {kind.__name__}: {text}") from None
        return error
    raise AssertionError(f"nothing was raised, expected {kind.__name__}: {text}")
