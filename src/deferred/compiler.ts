/** What a page downloads to compile: the compiler, and the methods of tensors, which captured code calls. */

import '../../runtime/setup.ts';

export { Captured } from '../dispatch/captured-function.ts';
export { explain } from '../explain/explain.ts';
