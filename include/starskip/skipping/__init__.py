"""Former home of ``starskip.indexes.skipping``: imports of its modules by their old names work, and warn.

To be removed with the next release. ``from starskip.spark import skipping`` is another module, and stays.
"""

from starskip.indexes.skipping.former_modules import FormerModules

FormerModules().install()
