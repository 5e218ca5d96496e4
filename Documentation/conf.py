# SPDX-License-Identifier: GPL-2.0-only
# Sphinx's settings; tools/docs/build runs it, and says which version this is.
project = "INC for Linux"
author = "the authors of INC for Linux"
copyright = "2026, " + author  # pylint: disable=redefined-builtin
root_doc = "index"
html_theme = "alabaster"
html_theme_options = {"description": "In-network collectives", "page_width": "1100px",
                      "sidebar_width": "240px"}
html_copy_source = False
html_show_sphinx = False
# "::" is a command line more often than a program.
highlight_language = "none"
# The times of files are not the reader's business, and make every build another one.
html_last_updated_fmt = None
