"""Files: opened with care, written atomically, identified by hashes, kept in the cache folder."""

from probing.storage.cache import (
    CHECKPOINTS,
    EXPLAINED,
    FILES,
    KERNELS,
    KINDS,
    PARALLEL,
    PARSES,
    SHIPPED,
    TEMPORARY,
    VECTORS,
    cache_folder,
    new_folder,
    writing,
)
from probing.storage.compressed import check_ratio, unpack
from probing.storage.files import (
    as_unicode,
    hash_content,
    hash_file,
    hash_json,
    make_name,
    publish,
    resolve_path,
    to_json,
    write_atomically,
)
from probing.storage.folders import Folder, refuse_links, remove_folder
from probing.storage.garbage import collecting_garbage_rarely, importing_for_good, pausing_garbage_collection
from probing.storage.kept_hashes import hash_large_file
from probing.storage.opened_files import OpenedFiles, list_matching, watching
from probing.storage.reading import (
    TooManyError,
    check_counts,
    check_path,
    check_tensor_header,
    decode_line,
    iterate_bytes,
    open_file,
    parse_json,
    read_text,
)
from probing.storage.sweeping import list_abandoned, measure, sweep
from probing.storage.temporary import find_start, identify_machine, is_temporary, make_temporary_folder
