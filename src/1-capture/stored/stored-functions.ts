/** Outlines and bytecode of a module's functions, by their offsets in the module's text. */
export type StoredFunctions = Readonly<Record<number, string>>;
