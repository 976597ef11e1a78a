// Functions that the host provides (src/codec/proto/transcode.ts).

/** Whether a quantity from `start` to `end` that is not of the plainest form is canonical: 1 or 0. */
export declare function isCanonical(start: i32, end: i32): i32;
