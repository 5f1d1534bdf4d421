import type { StoredFunction } from '../stored/read-function.ts';

/** Returns the function of a module that begins at `start` of its text; undefined if it isn't stored. */
type FindStored = (file: string, start: number) => StoredFunction | undefined;

/** Finds functions of this package; pages omit the code that reads them (`src/node`). */
export let findStored: FindStored = () => undefined;
export const provideStoredFunctions = (find: FindStored): void => {
  findStored = find;
};
