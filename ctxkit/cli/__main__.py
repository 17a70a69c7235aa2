"""`python -m ctxkit.cli`, where the `ctxkit` script is not on the path."""

from ctxkit.cli import main

raise SystemExit(main())
