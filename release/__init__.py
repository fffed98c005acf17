"""Checks of what is released: dependencies and their licences, known vulnerabilities, wheel and source archive."""
