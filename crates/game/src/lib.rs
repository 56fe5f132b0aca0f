//! Decision synthesis (Syntra, thesis section 4.5): beliefs of a jittery constant-bit-rate link with a finite buffer, the
//! game of a sender against that link, and the decision trees that are distilled from it.
