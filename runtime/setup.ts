/** Loads everything that a published entry point with tensors and their methods needs at run time. */

import './base-setup.ts';
import './tensor-methods/methods.ts';
