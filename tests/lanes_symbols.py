"""Files compiled for one processor must not emit functions that the linker may take for another file's copy.

lanes_symbols.py NM OBJECT...: every weak symbol of an object must carry the pack type of that object in its name.
"""

import re
import subprocess
import sys


def main(nm, objects):
    bad = []
    for path in objects:
        symbols = subprocess.run([nm, "--demangle", path], check=True, capture_output=True, text=True).stdout
        weak = [line.split(maxsplit=2)[2] for line in symbols.splitlines() if re.match(r"^[0-9a-f]+ [WVu] ", line)]
        packs = set(re.findall(r"scree::Pack<(\d+)>", symbols))
        if len(packs) != 1:
            sys.exit(f"{path}: packs of {sorted(packs)} lanes, expected those of one width")
        width = packs.pop()
        mine = re.compile(rf"Pack<{width}>|Mask<{width}>|VectorTypes<{width}>|[<\s]{width}>")
        # Tables of constants (vtables, typeinfo of interfaces) hold no instructions.
        bad += [f"{path}: {name}" for name in weak
                if not mine.search(name) and not re.match(r"(vtable|typeinfo)", name) and not name.startswith("DW.ref")]
        print(f"{path}: {len(weak)} weak symbols, packs of {width}")
    if bad:
        sys.exit("shared with other files:\n" + "\n".join(bad))


main(sys.argv[1], sys.argv[2:])
