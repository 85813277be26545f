"""`python -m appell` is the command `appell`."""

from appell.report.command import main

raise SystemExit(main())
