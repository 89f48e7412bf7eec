"""What `bin/ddx` and `python -m ddx` start; compiled at each start, so kept tiny (T-19)."""

import sys

if __name__ == "__main__":
    if not __package__:
        sys.path.insert(0, __file__.rsplit("/", 2)[0])
    if sys.flags.no_site:
        environment = sys.executable.rsplit("/", 2)[0]
        sys.path.append(f"{environment}/lib/python3.{sys.version_info.minor}/site-packages")
    from ddx.cli.main import main
    from ddx.console import leave

    leave(main())
