"""Setup of all tests."""

import os
import signal
import tempfile

from hypothesis import settings

# A shell starts background processes with SIGINT ignored, and children inherit that; tests of Ctrl-C need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Machines differ in speed, and everyone should see the same examples.
settings.register_profile("fairweir", deadline=None, derandomize=True)
settings.load_profile("fairweir")

# The key of seals (fairweir.documents.sealed) is in the user's state folder, which tests do not use.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="fairweir-tests-state-")
