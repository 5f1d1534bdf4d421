/** Methods that move, join, select and sort elements. */

import * as advancedIndex from '../ops/advanced-indexing/advanced-index.ts';
import { takeAlongDim } from '../ops/advanced-indexing/take-along-dim.ts';
import { indexFill } from '../ops/arranging/index-fill.ts';
import * as rearrange from '../ops/arranging/rearrange.ts';
import * as splitting from '../ops/arranging/splitting.ts';
import * as triangles from '../ops/arranging/triangles.ts';
import * as broadcast from '../ops/core/broadcast.ts';
import * as inPlace from '../ops/in-place/arranging-in-place.ts';
import * as dataDependent from '../ops/indexing/data-dependent.ts';
import * as gather from '../ops/indexing/gather.ts';
import * as indexing from '../ops/indexing/indexing.ts';
import * as movement from '../ops/movement/movement.ts';
import * as place from '../ops/movement/place.ts';
import * as views from '../ops/movement/views.ts';
import * as windows from '../ops/movement/windows.ts';
import { type Sizes, sizesOf } from '../ops/record/positional.ts';
import * as order from '../ops/reduce/order.ts';
import type { Shape } from '../spec/shape.ts';
import type { Tensor } from '../tensor/tensor.ts';

/** Returns a method that accepts sizes as one array or as separate arguments, like PyTorch. */
function sized(name: string, fn: (x: Tensor, sizes: Shape) => Tensor) {
  return (x: Tensor, ...sizes: Sizes): Tensor => fn(x, sizesOf(name, sizes));
}

/** Properties that are ops of the tensor alone. */
export const transposes = { T: views.reversed, mT: views.matrixTranspose } as const;

export const arrangementMethods = {
  expand: sized('expand', broadcast.expand),
  expandAs: views.expandAs,
  broadcastTo: views.broadcastTo,
  reshape: sized('reshape', movement.reshape),
  view: sized('view', movement.view),
  viewAs: movement.viewAs,
  flatten: movement.flatten,
  unflatten: views.unflatten,
  squeeze: movement.squeeze,
  unsqueeze: movement.unsqueeze,
  permute: sized('permute', movement.permute),
  transpose: movement.transpose,
  swapaxes: views.swapaxes,
  movedim: views.movedim,
  moveaxis: views.moveaxis,
  t: views.t,
  narrow: movement.narrow,
  select: movement.select,
  slice: views.sliceOf,
  unfold: windows.unfold,
  diagonal: views.diagonal,
  diag: views.diag,
  diagEmbed: place.diagEmbed,
  split: splitting.split,
  splitWithSizes: splitting.split,
  chunk: splitting.chunk,
  tensorSplit: splitting.tensorSplit,
  unbind: splitting.unbind,
  repeat: sized('repeat', rearrange.repeat),
  tile: sized('tile', rearrange.tile),
  repeatInterleave: rearrange.repeatInterleave,
  flip: sized('flip', rearrange.flip),
  fliplr: rearrange.fliplr,
  flipud: rearrange.flipud,
  roll: rearrange.roll,
  rot90: rearrange.rot90,
  tril: triangles.tril,
  triu: triangles.triu,
  trace: triangles.trace,
  gather: gather.gather,
  scatter: gather.scatter,
  scatterAdd: gather.scatterAdd,
  takeAlongDim,
  take: indexing.take,
  indexSelect: indexing.indexSelect,
  indexAdd: indexing.indexAdd,
  indexCopy: indexing.indexCopy,
  indexFill,
  index: advancedIndex.index,
  indexPut: advancedIndex.indexPut,
  indexPut_: advancedIndex.indexPut_,
  scatter_: inPlace.scatter_,
  scatterAdd_: inPlace.scatterAdd_,
  indexAdd_: inPlace.indexAdd_,
  indexCopy_: inPlace.indexCopy_,
  indexFill_: inPlace.indexFill_,
  maskedFill_: inPlace.maskedFill_,
  fillDiagonal_: inPlace.fillDiagonal_,
  nonzero: dataDependent.nonzero,
  maskedSelect: dataDependent.maskedSelect,
  sort: order.sort,
  argsort: order.argsort,
  msort: order.msort,
  topk: order.topk,
  kthvalue: order.kthvalue,
} as const;
