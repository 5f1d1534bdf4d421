import { inject } from 'vitest';
import { type Installed, install } from './install.ts';

/** The packed package, in a project of its own: built once per run of the tests. */
export const installed = (): Promise<Installed> => install(inject('packageFolder'));
