"""The checks of ``starskip doctor``: a configuration against the deployment that it describes."""
