"""Nonsmooth motion: walls and threads (`contact`), dry friction (`friction`).

What a model is written with has names of its own: `ap.Unilateral`, `ap.Between`, `ap.Friction`, `ap.rolling`.
"""
