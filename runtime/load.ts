/**
 * The loader of saved programs for pages that download little: loading a file downloads the runtime of programs and the
 * file's ops. Includes what a page needs to call programs; `tostatic/functions` has everything else.
 */

import './base-setup.ts';

export { enableGrad, noGrad } from './autograd/grad-mode.ts';
export { setDevice } from './device/current.ts';
export * as memory from './device/memory.ts';
export {
  ArgumentError,
  DataError,
  DeviceError,
  DTypeError,
  ShapeError,
  TostaticError,
} from './errors/errors.ts';
export { type InitOptions, init, shutdown } from './init.ts';
export {
  asTensor,
  isTensor,
  type NestedArray,
  type TensorOptions,
  tensor,
} from './ops/core/create.ts';
export { seed } from './random/seed.ts';
export { load, loadProgram } from './save/in-parts/load-in-parts.ts';
export type { FileSource, LoadFileOptions } from './save/load-file.ts';
export type { LoadedProgram } from './save/loaded-program.ts';
export { keep, tidy } from './tensor/lifetime.ts';
export { Tensor } from './tensor/tensor.ts';
