/** Records calls of the JavaScript kernels that a module may contain, in place of the device's own. */

import { type View, viewOf } from '../../../../runtime/device/cpu/core/host-kernels.ts';
import {
  addressOf,
  expectContiguous,
  indexOf,
} from '../../../../runtime/device/cpu/core/kernel.ts';
import { collapse } from '../../../../runtime/device/cpu/core/loops.ts';
import { alongDim } from '../../../../runtime/device/cpu/core/reduction.ts';
import { panelAAt } from '../../../../runtime/device/cpu/core/scratch.ts';
import { fillBytes } from '../../../../runtime/device/cpu/movement/bytes.ts';
import { copy } from '../../../../runtime/device/cpu/movement/copies.ts';
import { randomKernels } from '../../../../runtime/device/cpu/wasm/random-kernels.ts';
import type { Operand } from '../../../../runtime/device/device.ts';
import type { KernelName } from '../../../../runtime/device/kernel-names.ts';
import type { Attrs } from '../../../../runtime/device/kernel-op.ts';
import type { TensorMeta } from '../../../../runtime/device/tensor-meta.ts';
import { dtypes } from '../../../../runtime/spec/dtype.ts';
import { contiguousStrides, sizeOf } from '../../../../runtime/spec/shape.ts';
import type { HostArgument } from '../actions/actions.ts';
import { type HostFactory, type HostLog, placesOf } from './host-factory.ts';

/** The attributes of indexed rows, as the methods expect them. */
function entriesOf(whole: TensorMeta, index: TensorMeta, attrs: Attrs): HostArgument[] {
  expectContiguous(whole, index);
  const dim = attrs.dim as number;
  const [count, ...chosenShape] = index.shape as [number, ...number[]];
  const sizes = whole.shape.slice(dim, dim + count);
  const inner = sizeOf(whole.shape.slice(dim + count));
  const outer = sizeOf(whole.shape.slice(0, dim));
  return [
    [outer, sizeOf(sizes) * inner, inner, sizeOf(chosenShape), attrs.wraps ? 1 : 0],
    sizes.map((_, k) => dim + k),
    sizes,
    contiguousStrides(whole.shape).slice(dim, dim + count),
  ];
}

const clear = (target: Operand, { dtype, shape }: TensorMeta): void =>
  fillBytes(addressOf(target, dtype), sizeOf(shape) * dtypes[dtype].bytes);

const index: HostFactory = (log, [x, places], [out], attrs) => {
  const entries = entriesOf(x!, places!, attrs);
  return ([source, chosen], [target]) => {
    const at = placesOf([source!, chosen!, target!], [x!, places!, out!]);
    log.host('copyRows', ['index', viewOf[x!.dtype], at, ...entries, 1]);
  };
};

const indexGrad: HostFactory = (log, [dy, places], [dx], attrs) => {
  const entries = entriesOf(dx!, places!, attrs);
  return ([from, chosen], [target]) => {
    clear(target!, dx!);
    const at = placesOf([target!, chosen!, from!], [dx!, places!, dy!]);
    log.host('addRows', ['index', viewOf[dx!.dtype], at, ...entries]);
  };
};

const rowsInto =
  (op: 'indexPut' | 'indexAdd'): HostFactory =>
  (log, [x, places, source], [out], attrs) => {
    const entries = entriesOf(out!, places!, attrs);
    const start = copy([x!], [out!], {});
    return ([base, chosen, from], [target]) => {
      start([base!], [target!]);
      const at = placesOf([target!, chosen!, from!], [out!, places!, source!]);
      const args: HostArgument[] = [op, viewOf[out!.dtype], at, ...entries];
      if (op === 'indexPut') log.host('copyRows', [...args, 0]);
      else log.host('addRows', args);
    };
  };

const without = (list: readonly number[], dim: number) => list.map((s, d) => (d === dim ? 0 : s));

/** Loops over the elements of an index; `how` as in `moveElements`. */
function elements(
  log: HostLog,
  op: string,
  [whole, index, partner]: readonly [TensorMeta, TensorMeta, TensorMeta],
  dim: number,
  how: 0 | 1 | 2,
): (whole: Operand, index: Operand, partner: Operand) => void {
  const strides = [without(whole.strides, dim), index.strides, partner.strides];
  const loops = collapse(index.shape, strides);
  const along = [dim, whole.shape[dim]!, whole.strides[dim]!];
  return (...operands) => {
    const at = placesOf(operands, [whole, index, partner]);
    const view: View = viewOf[whole.dtype];
    log.host('moveElements', [op, view, at, loops.shape, ...loops.strides, along, how]);
  };
}

const gather: HostFactory = (log, [x, places], [out], { dim }) => {
  const each = elements(log, 'gather', [x!, places!, out!], dim as number, 0);
  return ([source, chosen], [target]) => each(source!, chosen!, target!);
};

const gatherGrad: HostFactory = (log, [dy, places], [dx], { dim }) => {
  const each = elements(log, 'gather', [dx!, places!, dy!], dim as number, 2);
  return ([from, chosen], [target]) => {
    clear(target!, dx!);
    each(target!, chosen!, from!);
  };
};

const scattering =
  (op: 'scatter' | 'scatterAdd'): HostFactory =>
  (log, [x, places, source], [out], { dim }) => {
    const start = copy([x!], [out!], {});
    const how = op === 'scatter' ? 1 : 2;
    const each = elements(log, op, [out!, places!, source!], dim as number, how);
    return ([base, chosen, from], [target]) => {
      start([base!], [target!]);
      each(target!, chosen!, from!);
    };
  };

const sort: HostFactory = (log, [x], [values, places], attrs) => {
  const { size, stride, outer } = alongDim(x!.shape, attrs.dim as number);
  const sizes = [size, stride, outer, attrs.count as number];
  return ([source], targets) => {
    const at = placesOf([source!, ...targets], [x!, values!, places!]);
    log.host('sortRows', [viewOf[x!.dtype], at, sizes, attrs.descending ? -1 : 1]);
  };
};

const random =
  (isNormal: 0 | 1): HostFactory =>
  (log, _inputs, [out], attrs) => {
    expectContiguous(out!);
    const size = sizeOf(out!.shape);
    const { uniform, normal } = randomKernels();
    return (_sources, [target], now = attrs) => {
      const stream = [now.seed as number, now.offset as number];
      if (out!.dtype === 'float64') {
        log.host('randomDoubles', [isNormal, indexOf(target!, 'float64'), size, ...stream]);
        return;
      }
      const args = [isNormal, addressOf(target!, 'float32'), size, ...stream, panelAAt];
      log.host('random', [...args, uniform, ...(isNormal ? [normal] : [])]);
    };
  };

/** For operands that the device has no generated kernel for. */
export const hostKernels: { readonly [N in KernelName]?: HostFactory } = {
  sort,
  index,
  indexGrad,
  indexPut: rowsInto('indexPut'),
  indexAdd: rowsInto('indexAdd'),
  gather,
  gatherGrad,
  scatter: scattering('scatter'),
  scatterAdd: scattering('scatterAdd'),
};

/** Replaces kernels that are generated except for the ends of the drawn range. */
export const drawingKernels: { readonly [N in KernelName]?: HostFactory } = {
  uniform: random(0),
  normal: random(1),
};
