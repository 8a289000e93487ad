"""A library is missing, or another version of it was loaded.

The loader did not find a shared library, or found one in which a symbol or a version is missing.
Typical: `undefined symbol: nccl…` or `cudnn…` (LD_LIBRARY_PATH, a module or another package
brings an older NCCL than torch's wheel); `GLIBC_2.34 not found` (built on a newer system than
the node's, or a container's program outside of it); a missing libcudart or libmpi (the module is
not loaded on that node); `undefined symbol: _ZN…` (an extension built for another torch).

When it happens on some nodes only, their systems or modules differ.

What misleads: it looks like a Python import error; libnccl-net.so not found is harmless, as is
`object … cannot be preloaded: ignored`.

Cure: `ldd FILE` on that node shows which file is taken; unset LD_LIBRARY_PATH or load the same
modules everywhere (software.modules); build the extension again; keep one package of NCCL.

Sources:
https://man7.org/linux/man-pages/man8/ld.so.8.html
https://github.com/pytorch/pytorch/issues/119932
https://github.com/NVIDIA/nccl/issues/1180
https://github.com/pytorch/pytorch/issues/186591
"""

from jobgen.diagnosis.signs import Role, Sign

_RAISED = (
    r"(?:^|[\])|] )(\w+\.)*"
    r"(ImportError|OSError|RuntimeError|AttributeError|NotFoundError|InternalError): "
)
SIGNS = (
    Sign(
        r"NET/\w+ ?: .*libnccl-net|Failed to load .*(extension|plugin)|cannot be preloaded"
        r"|An issue occurred while importing|Disabling its usage"
        r"|libnccl-(net|tuner|env|profiler|gin)\S*: cannot open shared object file",
        "an optional library is missing: harmless",
        Role.NOISE,
    ),
    Sign(
        _RAISED + r".*undefined symbol: (?P<symbol>\w+)",
        "the symbol {symbol} is missing in the library that was loaded",
    ),
    Sign(
        r"^(?P<library>/\S+\.so[\w.]*|lib\S+\.so[\w.]*): (undefined symbol: (?P<symbol>\w+)"
        r"|cannot open shared object file: No such file or directory$)",
        "the library {library} is missing or of another version {symbol}",
        needs_failure=True,
    ),
    Sign(
        r"\w+Error: .*\.so[\w.]*: symbol (?P<symbol>\w+),? version \S+ not defined in file "
        r"(?P<library>\S+) with link time reference",
        "the library {library} is of another version: it has no {symbol}",
        needs_failure=True,
    ),
    Sign(
        r"symbol lookup error: .*undefined symbol: (?P<symbol>\w+)",
        "the symbol {symbol} is missing in the library that was loaded",
    ),
    Sign(
        r"^\S+: (/\S+: )?version [`'](?P<version>(GLIBC|GLIBCXX|CXXABI)_[\d.]+)' not found",
        "the node's system has no {version}, which a library needs",
    ),
    Sign(
        r"version [`'](?P<version>(GLIBC|GLIBCXX|CXXABI|GCC|OPENSSL|NVMEM|OPAL)_?[\w.]*)'? not "
        r"found \(required by",
        "the node's system has no {version}, which a library needs",
        needs_failure=True,
    ),
    Sign(
        r"error while loading shared libraries: (?P<library>[^:]+): ",
        "the library {library} is missing",
    ),
    Sign(
        _RAISED + r"(?P<library>[\w./+-]*\.so[\w.]*): (cannot open shared object file(: |$)"
        r"|file too short|invalid ELF header|failed to map segment)",
        "the library {library} is missing or damaged",
    ),
    Sign(
        _RAISED + r".*cannot allocate memory in static TLS block",
        "a library was loaded too late (static TLS)",
    ),
    Sign(
        r"Could not load library (?P<library>lib\S+\.so\S*)\.|Unable to load any of \{libcud"
        r"|Invalid handle\. Cannot load symbol cud",
        "the library {library} is missing or of another version",
        needs_failure=True,
    ),
)
CURE = (
    "see with ldd which file is taken on that node; unset LD_LIBRARY_PATH, or give all nodes the"
    " same modules (software.modules), or install one version only"
)
MISLEADS = "libnccl-net.so that is not found is harmless"
EXPLAINS = (
    "import",
    "python-exception",
    "peer-lost",
    "collective-timeout",
    "rendezvous",
    "crash",
    "gpu-driver",
)
