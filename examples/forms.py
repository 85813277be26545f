"""Chaplygin's sleigh in every form that applies to it, and the table that shows that the forms agree."""

import appell as ap

sleigh = ap.zoo.sleigh()
x, y, phi = sleigh.system.coordinates
options = {"appell": {"pseudo": sleigh.pseudo}, "maggi": {"pseudo": sleigh.pseudo}, "hamel": {"pseudo": sleigh.pseudo},
           "chaplygin": {"independent": [x, phi]}, "voronets": {"independent": [x, phi]}}  # fmt: skip

for name, form in ap.forms.FORMS.items():
    reason = form.reason_against(sleigh.system)
    if reason:
        print(f"{name} does not apply: {reason}")
    else:
        print(form(sleigh.system, **options.get(name, {})).text("simplified"))
    print()

agreement = ap.agree(sleigh.system, states=3)
print(agreement)
assert agreement.ok
