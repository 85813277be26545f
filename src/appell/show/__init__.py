"""Pictures and typeset text of results; no mechanics."""

from appell.delegates import offer

offer(
    {
        "Averaged.plot": "appell.show.lab:slow_flow",
        "Basin.plot": "appell.show.lab:basin_map",
        "Branch.plot": "appell.show.lab:branch_curve",
        "Diagram.plot": "appell.show.lab:scatter",
        "Fit.plot": "appell.show.fitted:fitted_curves",
        "FoundStates.plot": "appell.show.lab:marked_states",
        "FrequencyResponse.plot": "appell.show.lab:response",
        "Linearization.plot": "appell.show.lab:spectrum",
        "Linearization.plot_modes": "appell.show.mode_pictures:mode_pictures",
        "Spectrum.plot": "appell.show.lab:amplitudes",
        "Lyapunov.plot": "appell.show.lab:convergence",
        "LyapunovField.plot": "appell.show.lab:field_map",
        "Motion.animate": "appell.show.animate:animate",
        "Motion.plot": "appell.show.plot:plot",
        "Motion.plot_path": "appell.show.plot:plot_path",
        "Motion.plot_phase": "appell.show.plot:plot_phase",
        "MotionPlan.plot": "appell.show.plan_figure:plan_figure",
        "Motions.plot": "appell.show.many_runs:many_motions",
        "Resonance.plot": "appell.show.lab:resonance_curve",
        "RestBranch.plot": "appell.show.lab:branch_curve",
        "Section.plot": "appell.show.lab:scatter",
        "SpecialCurve.plot": "appell.show.lab:plane_curve",
        "Variations.plot": "appell.show.lab:growth",
    }
)
