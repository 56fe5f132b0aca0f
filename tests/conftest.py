"""What every test stands on."""

import signal

# A shell starts what runs in the background with SIGINT ignored, and children inherit that; tests of Ctrl-C need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
