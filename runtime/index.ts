/** The runtime: tensors, autograd, modules and planned programs, without the compiler. */

import './setup.ts';

export * from './functions.ts';
