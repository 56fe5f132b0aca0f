"""FRCC's main update on the jittery link: its attractor, the proof by regions, controls (docs/formal/frcc-main.md)."""
