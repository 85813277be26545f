"""What the classical forms are derived, solved, evaluated and written with."""
