// Terms for records of a log: their place and their type.

/** Where a record is. Opaque; 0 means none. */
export type Location = number;

/**
 * Types of an entry of a log: the change types, and a live record copied forward out of a retired segment (no event).
 */
export const recordTypes = { create: 1, update: 2, delete: 3, move: 4 } as const;
