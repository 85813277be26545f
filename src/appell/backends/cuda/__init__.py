"""Functions and whole time loops on a GPU: text for NVRTC, launched through CuPy."""
