"""What pip-audit prints is read rightly: above all, a database that was not reached is not a clean result."""

from __future__ import annotations

import json

from release.vulnerabilities import verdict

CLEAN = {"name": "numpy", "version": "2.4.6", "vulns": []}
SKIPPED = {"name": "torch", "skip_reason": "Dependency not found on PyPI and could not be audited: torch (2.13.0)"}
VULNERABLE = {
    "name": "jinja2",
    "version": "3.1.5",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["3.1.6"], "aliases": []}],
}


def printed(*entries: dict) -> str:
    return json.dumps({"dependencies": entries, "fixes": []})


def test_a_clean_result_succeeds_and_names_what_was_not_checked():
    status, message = verdict(printed(CLEAN, SKIPPED), "No known vulnerabilities found, 1 skipped")
    assert status == 0 and "0 known in 1 packages" in message and "not checked: torch" in message


def test_a_vulnerability_fails_with_the_version_that_mends_it():
    status, message = verdict(printed(CLEAN, VULNERABLE), "Found 1 known vulnerability in 1 package")
    assert status == 1 and "jinja2 3.1.5: PYSEC-1, mended in 3.1.6" in message


def test_a_database_that_knows_no_package_was_not_reached():
    status, message = verdict(printed(SKIPPED), "No known vulnerabilities found, 1 skipped")
    assert status == 0 and "NOT CHECKED" in message


def test_an_error_of_the_connection_is_said_and_no_failure():
    for error in (
        "ERROR:pip_audit._cli:Could not connect to PyPI's vulnerability feed",
        "Traceback (most recent call last):\n  …\nrequests.exceptions.ConnectionError: name resolution failed",
    ):
        status, message = verdict("", error)
        assert status == 0 and "NOT CHECKED" in message


def test_any_other_error_fails():
    status, message = verdict("", "error: unrecognized arguments: --no-deps")
    assert status == 1 and "unrecognized arguments" in message
