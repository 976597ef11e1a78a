// What a record of a log is called: where it is, and what it says.

/** Where a record is. Opaque; 0 means none. */
export type Location = number;

/** What an entry of a log is: the change types, and a live record copied forward out of a retired segment (no event). */
export const recordTypes = { create: 1, update: 2, delete: 3, move: 4 } as const;
