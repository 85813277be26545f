"""Above all others: pages that put model, equations, verification, plots and animation together."""

from appell.delegates import offer

offer(
    {
        "Agreement.report": "appell.report.report:agreement_report",
        "Equations.report": "appell.report.report:equations_report",
        "Fit.report": "appell.report.fit_report:fit_report",
        "Motion.report": "appell.report.report:report",
        "Result.report": "appell.report.result_report:result_report",
        "Tree.view": "appell.report.view:view",
    }
)
