"""What every test stands on."""

import signal

from hypothesis import settings

# A shell starts what runs in the background with SIGINT ignored, and children inherit that; tests of Ctrl-C need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Machines differ in speed, and everyone should see the same examples.
settings.register_profile("fairweir", deadline=None, derandomize=True)
settings.load_profile("fairweir")
