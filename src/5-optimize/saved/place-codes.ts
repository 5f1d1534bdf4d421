import type { Attrs } from '../../../runtime/device/kernel-op.ts';
import { contiguousMeta, type TensorMeta } from '../../../runtime/device/tensor-meta.ts';
import { reachOf } from '../../../runtime/ops/convolution/max-pool.ts';
import { opNamed } from '../../../runtime/ops/op-table.ts';
import type { ProgramOp, ValueId } from '../../../runtime/program/program.ts';

/** Windows of a max-pooling with uint8 positions, over planes of `[height, width]`. */
interface PoolWindows {
  /** Rows and columns of the result. */
  readonly out: readonly [number, number];
  readonly stride: readonly [number, number];
  readonly padding: readonly [number, number];
  /** Elements per row of the plane. */
  readonly width: number;
}

/** Whether the positions of a `maxPool2d` with operand `x` fit into 8 bits, counted from the start of each window. */
export function fitsBytes({ op, attrs }: ProgramOp, x: TensorMeta): boolean {
  return op.name === 'maxPool2d' && reachOf(x, attrs) < 256;
}

/** Returns the windows of a `maxPool2dCoded` with operand `x`. */
export function windowsOf({ attrs }: ProgramOp, x: TensorMeta): PoolWindows {
  const pair = (name: keyof Attrs) => attrs[name] as readonly [number, number];
  return {
    out: pair('size'),
    stride: pair('stride'),
    padding: pair('padding'),
    width: x.shape[3]!,
  };
}

interface Coding {
  readonly windows: PoolWindows;
  /** int32 `[n, c, rows, columns]`: positions within the plane. */
  readonly places: TensorMeta;
  readonly newValue: (meta: TensorMeta) => ValueId;
  readonly like: Pick<ProgramOp, 'at' | 'recordsGrad'>;
}

/** Decodes uint8 positions within windows to int32 positions within the plane. */
export function decodedPlaces(code: ValueId, places: ValueId, coding: Coding): ProgramOp[] {
  const { newValue, like } = coding;
  const starts = windowStarts(coding);
  const [inWindow, inRow] = [newValue(coding.places), newValue(coding.places)];
  return [
    ...starts.ops,
    { ...like, op: opNamed('toInt32'), inputs: [code], outputs: [inWindow], attrs: {} },
    {
      ...like,
      op: opNamed('add'),
      inputs: [inWindow, starts.columns],
      outputs: [inRow],
      attrs: {},
    },
    { ...like, op: opNamed('add'), inputs: [inRow, starts.rows], outputs: [places], attrs: {} },
  ];
}

/**
 * The start of each window: `rows` [rows, 1], the position of the first element of its line, and `columns` [columns].
 */
function windowStarts({ windows, places, newValue, like }: Coding) {
  const { out, stride, padding, width } = windows;
  const ints = (shape: readonly number[]) =>
    newValue(contiguousMeta({ dtype: 'int32', shape }, places.device));
  const [lines, rows, columns] = [ints([out[0]]), ints([out[0], 1]), ints([out[1]])];
  const range = (id: ValueId, d: 0 | 1, size: number): ProgramOp => ({
    ...like,
    op: opNamed('arange'),
    inputs: [],
    outputs: [id],
    attrs: { count: out[d], start: -padding[d] * size, step: stride[d] * size, dtype: 'int32' },
  });
  const shape = [out[0], 1];
  const ops: ProgramOp[] = [
    range(lines, 0, width),
    { ...like, op: opNamed('reshape'), inputs: [lines], outputs: [rows], attrs: { shape } },
    range(columns, 1, 1),
  ];
  return { ops, rows, columns };
}
