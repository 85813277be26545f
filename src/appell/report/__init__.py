"""Reports: pages that combine model, equations, verification, plots and animation; the top layer of the package."""

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
