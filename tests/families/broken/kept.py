"""Breakages of what is written into folders and read again: stores of sweeps, kept runs."""

from __future__ import annotations

from tests.families.broken.breakage import Breakage

BREAKAGES = [
    Breakage(
        "numbers of a model are told apart by their fifteen printed digits",
        "model/fingerprint.py",
        '        return self._joined("atom", _name(expr), *expr._hashable_content())',
        '        return self._joined("atom", _name(expr), str(expr))',
        {
            "stores.another_model_is_refused": (3, 4, 5),
        },
    ),
    Breakage(
        "rows of a kept run are not compared with their checksum",
        "simulate/loop/kept_folder.py",
        '        if data is None or checksum(data) != expected:',
        '        if data is None:',
        {
            "kept_runs.damage_is_noticed_and_made_again": (0, 24),
        },
    ),
    Breakage(
        "a run goes on without the size of its next step",
        "simulate/loop/keeping.py",
        'trace.next_step = state.t, state.z, state.next_step',
        'trace.next_step = state.t, state.z, None',
        {
            "kept_runs.interrupts_anywhere_lose_nothing": (0,),
        },
    ),
    Breakage(
        "modes are not written",
        "simulate/loop/kept_modes.py",
        'for time, mode in trace.modes[since.modes :]],',
        'for time, mode in ()],',
        {
            "kept_runs.motions_with_events_go_on_bit_by_bit": (1,),
        },
    ),
    Breakage(
        "each leg of a run reduces anew",
        "simulate/loop/keeping.py",
        'followed_along(course, self.reductions, trace.reduced)',
        'followed_along(course, self.reductions, {})',
        {
            "kept_runs.reductions_are_those_of_an_ensemble_of_one": (1,),
        },
    ),
    Breakage(
        "the error of the last step is forgotten between two calls into compiled code",
        "loop/in_c.py",
        '        self.give_room(trials)\n        status',
        '        self.give_room(trials)\n        self.struct.error = 1e-4\n        status',
        {
            "kept_runs.calls_into_compiled_code_change_no_step": (2,),
        },
    ),
    Breakage(
        "what stands in a sealed state is believed",
        "simulate/loop/kept_folder.py",
        '        except (ValueError, TypeError, KeyError, IndexError, OverflowError, AttributeError):',
        '        except IndexError:',
        {
            "kept_runs.forged_pieces_are_not_believed": (0, 4, 10),
        },
    ),
    Breakage(
        "the order in which options are written belongs to the question of a sweep",
        "ensembles/sweep.py",
        '    definitions = {name: _registered(value) for name, value in effective.items()}\n',
        '    definitions = [_registered(value) for value in task.options.values()]\n',
        {
            "unusable_runs.options_in_any_order": (0, 1),
        },
    ),
    Breakage(
        "a sweep ends at a chunk in which no run can begin",
        "ensembles/sweep.py",
        '            return error.motions.dataset\n',
        '            raise error\n',
        {
            "unusable_runs.chunks_without_a_start": (0, 1),
        },
    ),
]
