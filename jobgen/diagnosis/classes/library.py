"""A library is missing, or another version of it was loaded.

The loader did not find a shared library, or found one in which a symbol or a version is missing.
Typical: `undefined symbol: nccl…` or `cudnn…` (LD_LIBRARY_PATH, a module or another package
brings an older NCCL than torch's wheel); `GLIBC_2.34 not found` (built on a newer system than
the node's, or a container's program outside of it); a missing libcudart or libmpi (the module is
not loaded on that node); `undefined symbol: _ZN…` (an extension built for another torch).

When it happens on some nodes only, their systems or modules differ. It looks like a Python import
error. `object … cannot be preloaded: ignored` is harmless. Build an extension again for the torch
that is there, and keep one package of NCCL.

Cure: see with ldd which file is taken on that node; unset LD_LIBRARY_PATH, or give all nodes the
same modules (software.modules), or install one version only

Not this: libnccl-net.so that is not found is harmless

Sources: https://man7.org/linux/man-pages/man8/ld.so.8.html
https://github.com/pytorch/pytorch/issues/119932
https://github.com/NVIDIA/nccl/issues/1180
https://github.com/pytorch/pytorch/issues/186591
"""

SIGNS = r"""
RAISED = (?:^|[\])|] )(\w+\.)*(ImportError|OSError|RuntimeError|AttributeError|NotFoundError
        |InternalError):[ ]
# An optional library is missing.
noise:
    NET/\w+ ?: .*libnccl-net|Failed to load .*(extension|plugin)|cannot be preloaded
    An issue occurred while importing|Disabling its usage
    libnccl-(net|tuner|env|profiler|gin)\S*: cannot open shared object file
sure cause: the symbol {symbol} is missing in the library that was loaded
    <RAISED>.*undefined symbol: (?P<symbol>\w+)
    symbol lookup error: .*undefined symbol: (?P<symbol>\w+)
sure cause if failed: the library {library} is missing or of another version {symbol}
    ^(?P<library>/\S+\.so[\w.]*|lib\S+\.so[\w.]*): (undefined symbol: (?P<symbol>\w+)
        |cannot open shared object file: No such file or directory$)
sure cause if failed: the library {library} is of another version: it has no {symbol}
    \w+Error: .*\.so[\w.]*: symbol (?P<symbol>\w+),? version \S+ not defined in file[ ]
        (?P<library>\S+) with link time reference
sure cause: the node's system has no {version}, which a library needs
    ^\S+: (/\S+: )?version [`'](?P<version>(GLIBC|GLIBCXX|CXXABI)_[\d.]+)' not found
sure cause if failed: the node's system has no {version}, which a library needs
    version [`'](?P<version>(GLIBC|GLIBCXX|CXXABI|GCC|OPENSSL|NVMEM|OPAL)_?[\w.]*)'? not found[ ]
        \(required by
sure cause: the library {library} is missing
    error while loading shared libraries: (?P<library>[^:]+):[ ]
sure cause: the library {library} is missing or damaged
    <RAISED>(?P<library>[\w./+-]*\.so[\w.]*): (cannot open shared object file(: |$)|file too short
        |invalid ELF header|failed to map segment)
sure cause: a library was loaded too late (static TLS)
    <RAISED>.*cannot allocate memory in static TLS block
sure cause if failed: the library {library} is missing or of another version
    Could not load library (?P<library>lib\S+\.so\S*)\.|Unable to load any of \{libcud
        |Invalid handle\. Cannot load symbol cud
"""
EXPLAINS = "import python-exception peer-lost collective-timeout rendezvous crash gpu-driver"
