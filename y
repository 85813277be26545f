format = 1
name = "oscillator"
reference = "r"
coordinates = ["x"]
kinetic = "m*x'^2/2"
potential = "k*x^2/2"

[parameters]
c = {value = 0.1, positive = true}
k = {value = 4.0, positive = true}
m = {value = 1.0, positive = true}

[forces]
x = "-c*x'"

[pseudo]
"w" = "x'"

[start]
x = 1.0

[run]
until = 1.0
