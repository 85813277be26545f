"""Sphinx: MyST pages whose code cells are executed when the documentation is built."""

import os
import sys
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "appell"
author = "appell developers"
copyright = "appell developers"
release = metadata.version("appell")
version = release

extensions = ["myst_nb", "sphinx.ext.autodoc", "gallery", "lecture", "mathml", "notebooks", "plain_docstrings", "reference"]
exclude_patterns = ["_build", "images", "jupyter_execute"]
templates_path = []
default_role = "code"

# -- pages -------------------------------------------------------------------------------------------------------------

myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["mystnb.unknown_mime_type"]

# Every number is computed in the build. APPELL_DOCS_EXECUTION=cache spares a writer the pages that have not changed.
nb_execution_mode = os.environ.get("APPELL_DOCS_EXECUTION", "force")
nb_execution_cache_path = str(HERE.parent / "out" / "docs-cache")
nb_execution_in_temp = True
os.environ["APPELL_DOCS"] = str(HERE)  # cells read kept numbers from here, and write into a folder of their own
nb_execution_timeout = 300
nb_execution_raise_on_error = False  # a cell that fails is a warning, and -W makes it an error when all pages were tried
nb_execution_show_tb = True
nb_merge_streams = True
nb_render_markdown_format = "myst"

# -- API ---------------------------------------------------------------------------------------------------------------

autodoc_typehints = "none"
autodoc_member_order = "bysource"
add_module_names = False
python_use_unqualified_type_names = True

# -- HTML --------------------------------------------------------------------------------------------------------------

html_theme = "furo"
html_title = f"appell {release}"
html_static_path = ["_static"]
html_css_files = ["appell.css"]
html_js_files = ["copy.js"]
html_math_renderer = "mathml"
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
