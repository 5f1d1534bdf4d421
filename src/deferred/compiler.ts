/** The part of `tostatic/deferred` that is downloaded later: the compiler, and the methods of tensors, which captured code calls. */

import '../../runtime/setup.ts';

export { Captured } from '../dispatch/captured-function.ts';
export { explain } from '../explain/explain.ts';
