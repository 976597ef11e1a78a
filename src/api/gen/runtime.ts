// Written by scripts/gen from proto/: do not edit.

/** runtime.TypeMeta. */
export interface TypeMeta {
  apiVersion?: string | undefined;
  kind?: string | undefined;
}

/** runtime.Unknown. */
export interface Unknown extends TypeMeta {
  raw?: string | undefined;
  contentEncoding: string;
  contentType: string;
}
