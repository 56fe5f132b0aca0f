"""Do the two worlds agree? A matrix of controllers and scenarios, played in the simulator and on the kernel."""
