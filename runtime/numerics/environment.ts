/**
 * Numerics chosen by `TOSTATIC_NUMERICS`, before the first op: a module of its own that the entries for Node load, since
 * pages would load the portable functions with it.
 */

import { chooseNumerics } from './choose-numerics.ts';

const fromEnvironment = globalThis.process?.env?.TOSTATIC_NUMERICS;
if (fromEnvironment) chooseNumerics(fromEnvironment, 'TOSTATIC_NUMERICS');
