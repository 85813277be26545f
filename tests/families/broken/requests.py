"""Breakages of what is asked for and what is said: data of others, settings, diagnoses, refusals."""

from __future__ import annotations

from tests.families.broken.breakage import Breakage

BREAKAGES = [
    Breakage(
        "rounding of a bracket is compared at one other state",
        "verify/frobenius.py",
        'NEARBY_STATES = 8\n',
        'NEARBY_STATES = 1\n',
        {
            "diagnosis.integrable_rows_times_a_factor": (0, 2, 8, 10),
        },
    ),
    Breakage(
        "rows are counted as independent if they are so off the constraints",
        "forms/engine/constraint_rows.py",
        'keep = independent_on_constraints(system, rows.A, a0, pivots, pivots(samples(rows.A), len(rows.indices)))',
        'keep = pivots(samples(rows.A), len(rows.indices))',
        {
            "implied_rows.dependent_on_the_constraints": (0, 1, 3),
        },
    ),
    Breakage(
        "a state counts as on the constraints where a row vanishes to second order",
        "forms/engine/constrained_states.py",
        'DEPENDENT_PIVOTS = (1e-4, 1e-10)',
        'DEPENDENT_PIVOTS = (1e-10,)',
        {
            "implied_rows.dependent_on_the_constraints": (0, 6),
        },
    ),
    Breakage(
        "velocities of SymPy's points and frames are taken to be in the speeds",
        "model/sympy_mechanics.py",
        'location.vel(frame)).xreplace(rates)',
        'location.vel(frame))',
        {
            "kanes_methods.loads_on_velocities_of_coordinates": (0, 3),
        },
    ),
    Breakage(
        "given directions of reactions are accepted beside rows nonlinear in the accelerations",
        "normal_form/rows.py",
        '    if not (free and names):\n',
        '    if True:\n',
        {
            "given_directions.directions_beside_nonlinear_rows": (0, 3),
        },
    ),
    Breakage(
        "jumps of smooth-looking functions are not looked for along a motion",
        "simulate/jumps_crossed.py",
        '    for jump in hidden:\n',
        '    for jump in ():\n',
        {
            "unmarked_jumps.potentials_that_jump": (0, 3),
            "unmarked_jumps.rows_that_jump": (0, 3),
        },
    ),
    Breakage(
        "a jump elsewhere on a surface counts as one where a motion crosses it",
        "simulate/jumps_crossed.py",
        ' and fraction * abs(2 * crossed.fraction - 1) <= nearest:',
        ':',
        {
            "unmarked_jumps.surfaces_crossed_beside_jumps": (0, 2, 5),
        },
    ),
    Breakage(
        "rounding over a distance is taken for a jump",
        "model/jumps.py",
        'ROUNDING_OVER_DISTANCE * _scatter(along, at, short)',
        '0.0',
        {
            "unmarked_jumps.removable_singularities": (0, 1, 9),
        },
    ),
    Breakage(
        "a pole is taken for a kink",
        "model/jumps.py",
        'narrow > max(wide / 2, 1e-4 * size, rough) and not _diverges(along, at, rounding)',
        'narrow > max(wide / 2, 1e-4 * size, rough)',
        {
            "unmarked_jumps.wires_with_poles": (0, 1),
        },
    ),
    Breakage(
        "x/|x| is not examined for jumps",
        "model/jumps.py",
        'nodes_of(expr, *KINKED), key=str):  # x/|x| is sign(x)',
        'nodes_of(expr, *JUMPING), key=str):',
        {
            "unmarked_jumps.signs_by_division": (0, 1),
        },
    ),
    Breakage(
        "energies of ensembles with error control are not judged",
        "ensembles/energy_doubts.py",
        '    if (order.step is None and not may_be_steep(run.system)) or',
        '    if order.step is None or',
        {
            "unmarked_jumps.steep_potentials_in_ensembles": (0, 1),
        },
    ),
    Breakage(
        "antiderivatives keep the cases of vanishing coefficients",
        "verify/pfaffian_integrals.py",
        'manualintegrate(e, s).replace(sympy.Piecewise, _generic_case)',
        'manualintegrate(e, s)',
        {
            "unmarked_jumps.integrals_without_cases": (0, 2),
        },
    ),
    Breakage(
        "a start has no part in the pseudo-velocities that are suggested",
        "verify/suggestion.py",
        '    begin = [] if case.start is None else [at(case.start)]\n',
        '    begin: list[float] = []\n',
        {
            "diagnosis.pseudo_velocities_at_the_start": (0, 2),
        },
    ),
    Breakage(
        "stand-ins of functions without a value stay in sentences",
        "verify/diagnose.py",
        '        sentence = sentence.replace(str(substitute), str(original))\n',
        '',
        {
            "diagnosis.letters_of_the_user": (0, 4),
        },
    ),
    Breakage(
        "states at which rows lose rank are as good as others",
        "normal_form/nearest.py",
        ' if rank == max(ranks)]\n',
        ' if rank >= 0]\n',
        {
            "diagnosis.parallel_cranks": (0, 3),
        },
    ),
    Breakage(
        "rows without a slope are not looked for",
        "verify/diagnose.py",
        '        flat = list(_without_slope(case))',
        '        flat = []',
        {
            "diagnosis.squares_of_rows": (0, 3),
        },
    ),
    Breakage(
        "an unmatched quotation mark in the name of a compiler is not expected",
        "backends/compiler/build.py",
        '    except ValueError:  # an unmatched quotation mark',
        '    except KeyError:',
        {
            "environments.odd_settings_are_served_or_refused": (1, 13),
        },
    ),
    Breakage(
        "files of the cache are known by their ending alone",
        "backends/compiler/cache.py",
        'x.endswith(suffix) and CACHE_ENTRY.fullmatch(x))',
        'x.endswith(suffix))',
        {
            "environments.nothing_of_others_is_removed": (0, 1, 3),
        },
    ),
    Breakage(
        "codecs of a Zarr array are not looked at",
        "motion/foreign.py",
        '    if codecs[:1] != ["bytes"] or len(compressors) > 1 or any(c not in COMPRESSED for c in compressors):',
        '    if False:',
        {
            "foreign_data.zarr_of_others_is_looked_at_before_it_is_decoded": (3,),
        },
    ),
    Breakage(
        "links in an HDF5 file are followed",
        "motion/foreign.py",
        '            if not isinstance(file.get(name, getlink=True), h5py.HardLink):',
        '            if False:',
        {
            "foreign_data.netcdf_of_others_leads_nowhere": (0, 3),
        },
    ),
    Breakage(
        "a mesh may lie anywhere",
        "scene/tree_scenes.py",
        '    if not any(resolved.is_relative_to(home) for home in _allowed_folders(urdf)):',
        '    if False:',
        {
            "foreign_data.meshes_of_a_robot_lie_in_its_folder": (1, 5),
        },
    ),
    Breakage(
        "whatever a formula becomes stands on the page",
        "show/mathml.py",
        '    return result if is_plain(result) else f"<code>{escape(source)}</code>"',
        '    return result',
        {
            "foreign_data.attributes_are_data_on_every_page": (1,),
        },
    ),
    Breakage(
        "meanings of quantities stand on the page as they are",
        "report/panels.py",
        'title="{escape(series.meaning)}: press',
        'title="{series.meaning}: press',
        {
            "foreign_data.attributes_are_data_on_every_page": (2, 11),
        },
    ),
    Breakage(
        "text is read as an expression",
        "reading.py",
        '        raise ModelError(f"{where} must be a SymPy expression or a number, not the text {shown(value)}; {REMEDY}")',
        '        return sympy.sympify(str(value))',
        {
            "hostile.text_is_never_executed": (0, 9, 13),
        },
    ),
    Breakage(
        "names in an expression are not looked at before it becomes Python code",
        "numeric_functions.py",
        '        _refuse_names(expr, symbols)\n',
        '        pass\n',
        {
            "hostile.names_in_expressions_never_stand_in_code": (0, 2),
        },
    ),
    Breakage(
        "an object's own __float__ may raise what it likes",
        "reading.py",
        '    except Exception:  # the __float__ of a foreign object may raise anything\n        return None',
        '    except TypeError:\n        return None',
        {
            "hostile.hostile_calls": (1,),
            "refused_requests.what_is_no_number_is_refused_everywhere": (13, 15),
        },
    ),
    Breakage(
        "foreign bytes raise a ValueError only",
        "scene/meshes.py",
        '    except Exception as error:  # foreign bytes may raise anything',
        '    except ValueError as error:',
        {
            "hostile.damaged_files": (1,),
        },
    ),
    Breakage(
        "triangles are not counted before they are made",
        "scene/meshes.py",
        '    if sum(sizes) > TRIANGLES:',
        '    if False:',
        {
            "hostile.meshes_in_bounded_memory": (6,),
        },
    ),
    Breakage(
        "requests of any size are begun",
        "reading.py",
        '    if count * width > memory():',
        '    if False:',
        {
            "refused_requests.sizes_beyond_memory_are_refused_with_the_size": (10, 11),
        },
    ),
    Breakage(
        "values stand in messages as they are",
        "reading.py",
        '        text = _SHORT.repr(value)\n    except Exception:  # the __repr__ of a foreign object may raise anything\n'
        '        return f"<{type(value).__name__}>"\n    text = " ".join(text.split())\n'
        '    return text if len(text) <= VALUE_CHARACTERS',
        '        text = repr(value)\n    except Exception:\n        return f"<{type(value).__name__}>"\n    return text if 1',
        {
            "refused_requests.values_in_messages_are_short": (4, 10),
        },
    ),
    Breakage(
        "a table is the whole dataset, unstacked",
        "motion/samples.py",
        '    table = columns(dataset)\n    text = io.StringIO()',
        '    return dataset.to_dataframe().reset_index().to_csv(index=False)\n    text = io.StringIO()',
        {
            "refused_requests.a_table_has_one_row_a_sample": (0,),
        },
    ),
    Breakage(
        "any page may open a socket of the studio",
        "report/server.py",
        '        return origin in {f"http://{host}" for host in self.hosts}',
        '        return True',
        {
            "studio_requests.others_are_not_let_in": (0, 3, 8),
        },
    ),
    Breakage(
        "whether a gradient vanishes is decided in SI units",
        "model/face_check.py",
        '    return _Zeros(arrived, ~arrived & ~fast & flat & (np.abs(value[0]) < SLOPE_VANISHED * first))',
        '    return _Zeros(arrived, np.linalg.norm(value[1:-1], axis=0) < 1e-6)',
        {
            "small_faces.gradient_that_does_not_vanish": (0, 1),
        },
    ),
    Breakage(
        "states are shaken, and moved along their rows, by lengths in SI units",
        "verify/ranks.py",
        '    inertia = out["M"].diagonal()\n',
        '    return ones\n    inertia = out["M"].diagonal()\n',
        {
            "units_of_small_motions.diagnoses_in_any_units": (2,),
        },
    ),
    Breakage(
        "powers with letters are compared when common factors are sought",
        "tidy/wave_products.py",
        ' for x, p in term.as_powers_dict().items() if p.is_Rational}',
        ' for x, p in term.as_powers_dict().items()}',
        {
            "written_equations.powers_with_letters": (2,),
        },
    ),
    Breakage(
        "powers with letters are compared when terms are grouped",
        "tidy/regroup.py",
        '    return p if p.is_Rational else sympy.S.Zero',
        '    return p',
        {
            "written_equations.powers_with_letters": (0,),
        },
    ),
    Breakage(
        "Jourdain's form does not ask whether its velocities determine the others",
        "forms/jourdain.py",
        '            solved_block=split.solved_block,\n',
        '',
        {
            "written_equations.multipliers_beside_singular_velocities": (0, 3),
        },
    ),
]
