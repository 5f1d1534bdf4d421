/** Public functions that create, view and join tensors. */

export { atleast1d, atleast2d, atleast3d, broadcastTensors } from './at-least.ts';
export { empty, full, ones, zeros } from './create.ts';
export {
  cat,
  cat as concat,
  cat as concatenate,
  columnStack,
  dstack,
  hstack,
  stack,
  vstack,
  vstack as rowStack,
} from './joining.ts';
export {
  clone,
  contiguous,
  flatten,
  narrow,
  permute,
  reshape,
  select,
  squeeze,
  transpose,
  unsqueeze,
} from './movement.ts';
export { diagEmbed } from './place.ts';
export {
  arange,
  emptyLike,
  eye,
  fullLike,
  type LikeOptions,
  linspace,
  onesLike,
  zerosLike,
} from './ranges.ts';
export {
  broadcastTo,
  diag,
  diagonal,
  meshgrid,
  moveaxis,
  movedim,
  swapaxes,
  t,
  unflatten,
} from './views.ts';
export { col2im, col2im as fold, im2col, type UnfoldOptions, unfold } from './windows.ts';
