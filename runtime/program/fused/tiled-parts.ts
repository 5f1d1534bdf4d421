import type { Device } from '../../device/device.ts';
import { operandUse } from '../../device/kernel-op.ts';
import { isChanging, launchAttrs } from '../../device/symbolic-attrs.ts';
import { isContiguousMeta, type TensorMeta } from '../../device/tensor-meta.ts';
import {
  buffersOfTiles,
  mostTileProducts,
  type TiledBody,
  type TileNode,
  type TileProduct,
  type TileSource,
} from '../../device/tiled-body.ts';
import { contiguousStrides, sameShape, sizeOf } from '../../spec/shape.ts';
import type { ProgramOp, ValueId, ValueTable } from '../program.ts';
import { isAlias } from './row-parts.ts';

/** The role of an op in a tiled op; a `product` may multiply the result of other parts. */
type TilePartKind = 'product' | 'pointwise' | 'uniform' | 'row' | 'alias' | 'flip';

/** Returns the role of the op in a tiled op of its device; null if it must stay a separate op. */
export function tilePartKind(programOp: ProgramOp, values: ValueTable): TilePartKind | null {
  const [first] = [...programOp.outputs, ...programOp.inputs];
  if (first === undefined || values[first]!.device.mostTileColumns === 0) return null;
  return roleOf(programOp, values);
}

/** Returns the role of the op in a tiled op of any device. */
function roleOf(programOp: ProgramOp, values: ValueTable): TilePartKind | null {
  const { op, inputs, outputs, attrs, before, call, regions, parts } = programOp;
  if (before !== undefined || call || regions || parts || outputs.length !== 1) return null;
  if (op.inPlace || op.effect || op.mayRefuse || op.target) return null;
  const out = values[outputs[0]!]!;
  const { device } = out;
  if (inputs.some((id) => values[id]!.device !== device)) return null;
  const { kernel } = op;
  if (kernel.kind === 'view') {
    if (isAlias(programOp, values)) return 'alias';
    return isFlip(values[inputs[0]!]!, out) && !Object.values(attrs).some(isChanging)
      ? 'flip'
      : null;
  }
  if (!isContiguousMeta(out) || sizeOf(out.shape) === 0) return null;
  const told = launchAttrs(op);
  if (!Object.keys(attrs).every((name) => told.has(name) || !isChanging(attrs[name]!))) return null;
  if (inputs.some((_, i) => operandUse(op, i) === 'shape')) return null;
  if (kernel.kind === 'pointwise') return 'pointwise';
  if (kernel.kind !== 'named') return null;
  const isFloat = [...inputs, ...outputs].every((id) => values[id]!.dtype === 'float32');
  switch (kernel.name) {
    case 'matmul':
      return isFloat ? 'product' : null;
    case 'uniform':
      return isFloat ? 'uniform' : null;
    case 'softmax':
    case 'softmaxGrad':
      return isFloat ? 'row' : null;
    default:
      return null;
  }
}

/** Whether the view transposes the last two dimensions of an entire contiguous value. */
function isFlip(base: TensorMeta, view: TensorMeta): boolean {
  const rank = base.shape.length;
  if (rank < 2 || view.shape.length !== rank || view.offset !== base.offset) return false;
  if (!isContiguousMeta(base)) return false;
  const swapped = <T>(list: readonly T[]) => [
    ...list.slice(0, -2),
    list[rank - 1]!,
    list[rank - 2]!,
  ];
  const strides = swapped(contiguousStrides(base.shape));
  return (
    sameShape(view.shape, swapped(base.shape)) &&
    view.strides.every((stride, d) => stride === strides[d] || view.shape[d] === 1)
  );
}

/** The grid of the matrices of one attention: number of batches, rows and columns. */
export interface TileGrid {
  readonly batches: number;
  readonly rows: number;
  readonly columns: number;
}

/** Returns the grid of matrices of this shape; null for vectors. */
export function tileGridOf(shape: TensorMeta['shape']): TileGrid | null {
  const [rows, columns] = shape.slice(-2);
  if (rows === undefined || columns === undefined) return null;
  return { batches: sizeOf(shape.slice(0, -2)), rows, columns };
}

export function isInGrid({ shape }: TensorMeta, { batches, rows, columns }: TileGrid): boolean {
  const grid = tileGridOf(shape);
  return grid?.batches === batches && grid.rows === rows && grid.columns === columns;
}

/** Device properties that limit the size of a tiled kernel. */
type TileLimits = Pick<Device, 'mostTileColumns' | 'mostFusedBuffers'>;

/** Whether the parts are attention, or its gradient, that the device can compute by tiles. */
export function areTiled(
  parts: readonly ProgramOp[],
  results: readonly ValueId[],
  values: ValueTable,
): boolean {
  const defined = new Set(parts.flatMap(({ outputs }) => outputs));
  const operands = [...new Set(parts.flatMap(({ inputs }) => inputs))].filter(
    (id) => !defined.has(id),
  );
  const anything = { mostTileColumns: Infinity, mostFusedBuffers: Infinity };
  return tiledBody(parts, results, operands, values, anything) !== null;
}

/**
 * Returns attention, or its gradient, by tiles: products of operands; pointwise ops, random numbers and a softmax on
 * these; and products with the outcome, the only results. Null for other parts, too many operands to bind, or results
 * too wide for registers.
 */
export function tiledBody(
  parts: readonly ProgramOp[],
  results: readonly ValueId[],
  operands: readonly ValueId[],
  values: ValueTable,
  limits: TileLimits,
): TiledBody | null {
  const seed = parts.find(({ op }) => op.kernel.kind === 'named' && op.kernel.name === 'softmax');
  const grid = seed ? tileGridOf(values[seed.outputs[0]!]!.shape) : null;
  if (!grid) return null;
  const builder = new TileBuilder(grid, operands, values);
  if (!parts.every((part, index) => builder.add(part, index))) return null;
  return builder.finish(results, limits);
}

/** The matrix that a value represents: that of a node, or its transpose. */
interface MatrixView {
  readonly node: number;
  readonly isFlipped: boolean;
}

class TileBuilder {
  readonly #grid: TileGrid;
  readonly #operandOf: ReadonlyMap<ValueId, number>;
  readonly #values: ValueTable;
  readonly #nodes: TileNode[] = [];
  readonly #shown = new Map<ValueId, MatrixView>();
  readonly #products = new Map<ValueId, TileProduct>();
  readonly #parts: TiledBody['parts'][number][] = [];

  constructor(grid: TileGrid, operands: readonly ValueId[], values: ValueTable) {
    this.#grid = grid;
    this.#operandOf = new Map(operands.map((id, index) => [id, index]));
    this.#values = values;
  }

  /** Adds a part; returns false if the op can't be one. */
  add(programOp: ProgramOp, part: number): boolean {
    const kind = roleOf(programOp, this.#values);
    const [result] = programOp.outputs;
    if (kind === null || result === undefined) return false;
    // Accumulated products are complete only when the op has ended.
    if (programOp.inputs.some((id) => this.#products.has(id))) return false;
    if (kind === 'alias' || kind === 'flip') return this.#show(programOp.inputs[0]!, result, kind);
    this.#parts.push({ op: programOp.op, part });
    if (kind === 'product' && programOp.inputs.some((id) => this.#shown.has(id))) {
      return this.#multiply(programOp.inputs, result);
    }
    const node = isInGrid(this.#values[result]!, this.#grid)
      ? this.#node(programOp, kind, part)
      : null;
    if (!node) return false;
    this.#shown.set(result, { node: this.#nodes.push(node) - 1, isFlipped: false });
    return true;
  }

  finish(results: readonly ValueId[], limits: TileLimits): TiledBody | null {
    const products = results.flatMap((id) => this.#products.get(id) ?? []);
    // The results are exactly the accumulated products.
    if (products.length !== results.length || products.length !== this.#products.size) return null;
    const productCount = this.#nodes.filter(({ kind }) => kind === 'product').length;
    if (productCount > mostTileProducts) return null;
    const body = { ...this.#grid, nodes: this.#nodes, products, parts: this.#parts };
    const widths = results.map((id, i) => {
      const { isLeft } = products[i]!;
      return this.#values[id]!.shape.at(isLeft ? -1 : -2)!;
    });
    if (widths.some((width) => width > limits.mostTileColumns)) return null;
    return buffersOfTiles(body) <= limits.mostFusedBuffers ? body : null;
  }

  #show(base: ValueId, view: ValueId, kind: 'alias' | 'flip'): boolean {
    const shown = this.#shown.get(base);
    if (!shown) return false;
    const isFlipped = shown.isFlipped !== (kind === 'flip');
    const { shape } = this.#values[view]!;
    const grid = kind === 'alias' ? tileGridOf(shape) : this.#grid;
    if (grid?.rows !== this.#grid.rows || grid.columns !== this.#grid.columns) return false;
    this.#shown.set(view, { node: shown.node, isFlipped });
    return true;
  }

  #node({ op, inputs, outputs }: ProgramOp, kind: TilePartKind, part: number): TileNode | null {
    if (kind === 'uniform') return { kind, part };
    if (kind === 'product') {
      const [left, right] = inputs.map((id) => this.#operandOf.get(id)!) as [number, number];
      return { kind, left, right };
    }
    const { shape, dtype } = this.#values[outputs[0]!]!;
    const sources = inputs.map((id) => this.#source(id, shape));
    if (sources.some((from) => from === null)) return null;
    if (op.kernel.kind === 'pointwise') {
      const tileSources = sources as readonly TileSource[];
      return { kind: 'pointwise', expr: op.kernel.expr, sources: tileSources, dtype, shape, part };
    }
    const read = sources.flatMap((from) => (from && 'node' in from ? [from.node] : []));
    if (read.length < inputs.length || op.kernel.kind !== 'named') return null;
    const { name } = op.kernel;
    return name === 'softmax' || name === 'softmaxGrad'
      ? { kind: 'row', op: name, sources: read }
      : null;
  }

  #source(id: ValueId, shape: TensorMeta['shape']): TileSource | null {
    const shown = this.#shown.get(id);
    if (!shown) return { operand: this.#operandOf.get(id)! };
    return !shown.isFlipped && sameShape(this.#values[id]!.shape, shape)
      ? { node: shown.node }
      : null;
  }

  #multiply([left, right]: readonly ValueId[], result: ValueId): boolean {
    const [first, second] = [this.#shown.get(left!), this.#shown.get(right!)];
    const shown = first ?? second;
    if (!shown || (first && second)) return false;
    const isLeft = first !== undefined;
    this.#products.set(result, {
      node: shown.node,
      factor: this.#operandOf.get(isLeft ? right! : left!)!,
      over: isLeft === shown.isFlipped ? 'rows' : 'columns',
      isLeft,
    });
    return true;
  }
}
