/** Name of the file in the data directory; apart from what loads LMDB, for threads that only name it. */
export const fileName = "data.mdb";
