// Written by scripts/gen from proto/: do not edit.
export {};
