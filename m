# A model file. Expressions are written as on paper: x' is a velocity, x'' an acceleration, ^ a power.
name = "pendulum on a spring"
coordinates = ["r", "phi"]
kinetic = "m*(r'^2 + r^2*phi'^2)/2"
potential = "k*(r - l)^2/2 - m*g*r*cos(phi)"

[units]
r = "m"
phi = "rad"

[parameters]
m = "2 kg"
k = "250 N/m"
l = "40 cm"
g = "9.81 m/s^2"
c = "0.1 N*s/m"

[forces]
r = "-c*r'"

# Constraints, walls and friction come in double brackets, one for each:
# [[constraints]]
# name = "rod"
# row = "r - l"
#
# [[walls]]
# name = "stop"
# gap = "0.6 - r"
# restitution = 0.8

[start]
r = "45 cm"
phi = "30 deg"

[run]
until = "10 s"

# What `appell sweep` varies:
# [sweep]
# k = {from = "200 N/m", to = "300 N/m", points = 11}
