"""Known vulnerabilities of the versions in ``constraints.txt``, by pip-audit.

``python -m release.vulnerabilities`` fails if there are any. Where PyPI's database cannot be reached, it says that nothing was
checked, and succeeds: a build without a network is not a failed one.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

VERSIONS = Path(__file__).parents[1] / "constraints.txt"
# Each version is looked up as it stands, and nothing is installed.
COMMAND = ("-m", "pip_audit", "--requirement", str(VERSIONS), "--no-deps", "--disable-pip")
OUTPUT = ("--format", "json", "--progress-spinner", "off")
_UNREACHABLE = re.compile(r"Could not connect|not redirecting properly|requests\.exceptions\.|ServiceError|timed out")


def verdict(output: str, errors: str) -> tuple[int, str]:
    """Return the exit status and the message for what pip-audit has printed."""
    try:
        entries = json.loads(output)["dependencies"]
    except (ValueError, KeyError, TypeError):
        if _UNREACHABLE.search(errors):
            return 0, _unreached(errors.strip().rpartition("\n")[2])
        return 1, f"vulnerabilities: pip-audit failed:\n{errors.strip()}"
    skipped = [entry["name"] for entry in entries if "skip_reason" in entry]
    if len(skipped) == len(entries):
        return 0, _unreached("it knows none of these packages")
    lines = [
        f"  {entry['name']} {entry['version']}: {each['id']}, mended in {', '.join(each['fix_versions']) or 'no version'}"
        for entry in entries
        for each in entry.get("vulns", ())
    ]
    found = f"vulnerabilities: {len(lines)} known in {len(entries) - len(skipped)} packages"
    if skipped:
        found += f"; not checked: {', '.join(skipped)}"
    if not lines:
        return 0, found
    return 1, "\n".join([found, *lines, "Raise the versions in constraints.txt, and run the tests."])


def _unreached(reason: str) -> str:
    return f"vulnerabilities: NOT CHECKED, as the database of PyPI could not be reached ({reason})"


def main() -> int:
    """Run pip-audit, and say what it found."""
    process = subprocess.run([sys.executable, *COMMAND, *OUTPUT], capture_output=True, text=True)
    status, message = verdict(process.stdout, process.stderr)
    print(message)
    return status


if __name__ == "__main__":
    sys.exit(main())
