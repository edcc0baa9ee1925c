"""The explorer: a local page for looking into vectors, and the JSON API of ``docs/exploring.md`` that it uses."""
