"""What the processes that execute chapters have in common, imported once before they are forked.

Whatever goes wrong here goes wrong again, and is told, where it is needed.
"""

import contextlib

with contextlib.suppress(Exception, KeyboardInterrupt):
    import papermill  # noqa: F401

    import lib.book.registry  # noqa: F401
