import type { TensorMeta } from '../../../tensor-meta.ts';
import { indexTexts, walksOf } from '../index-text.ts';
import type { WgslWriter } from '../wgsl-writer.ts';
import {
  columnsPerThread,
  threadsAcross,
  tileColumns,
  tileDepth,
  tileThreads,
  upTo,
} from './tile-layout.ts';

/** A matrix per batch: the start of batch `z`'s matrix, and its strides. */
export interface TileMatrix {
  /** The index among the operands of the stage. */
  readonly operand: number;
  readonly first: string;
  readonly rowStride: number;
  readonly columnStride: number;
  /** The prefix of its uniforms' names. */
  readonly name: string;
}

/** Writes the start of batch `z`'s matrix. */
export function matrixText(
  w: WgslWriter,
  { shape, strides }: TensorMeta,
  { operand, first }: { readonly operand: number; readonly first: string },
  name: string,
): TileMatrix {
  const { loops } = walksOf(shape.slice(0, -2), [strides.slice(0, -2)]);
  const [base] = indexTexts(w, loops, 'z', `${name}_`);
  const [rowStride, columnStride] = strides.slice(-2) as [number, number];
  return { operand, first: w.let(`${first} + ${base!}`), rowStride, columnStride, name };
}

export function elementText(w: WgslWriter, m: TileMatrix, row: string, column: string): string {
  return w.load(m.operand, indexText(w, m, row, column));
}

/** Returns the index of the element at a row and column. */
export function indexText(w: WgslWriter, m: TileMatrix, row: string, column: string): string {
  const times = (side: string, stride: number) =>
    stride === 1 ? '' : ` * ${w.count(`${m.name}_${side}`, stride)}`;
  return `${m.first} + (${row})${times('row', m.rowStride)} + (${column})${times('column', m.columnStride)}`;
}

/** Two matrices whose product gives the tile's elements, and the number of steps. */
export interface TileFactors {
  readonly left: TileMatrix;
  readonly right: TileMatrix;
  readonly depth: string;
}

/** The text of a tiled kernel: its writer, and the names shared by all its passes. */
export interface TileText {
  readonly w: WgslWriter;
  /** The number of tile rows per thread. */
  readonly perThread: number;
  /** The total numbers of rows and columns. */
  readonly rows: string;
  readonly columns: string;
  /** The factors of each product, by node. */
  readonly factors: ReadonlyMap<number, TileFactors>;
  /** The count of numbers per row. */
  readonly numbers: number;
}

/**
 * Declares memory for parts of factors: both factors of a product, or the factor of a result, which are never needed
 * together.
 */
export function shareFactors({ w }: TileText): void {
  w.shared('factors', `array<f32, ${2 * tileDepth * tileColumns}>`);
}

/** Declares the thread's elements of a product. */
export function startProduct({ w, perThread }: TileText, node: number): void {
  for (const r of upTo(perThread)) {
    for (const c of upTo(columnsPerThread)) w.line(`var ${productName(node, r, c)} = 0.0f;`);
  }
}

/** Returns the name of the thread's product element in its row r and column c. */
export function productName(node: number, r: number, c: number): string {
  return `p${node}_${r}_${c}`;
}

/**
 * Writes the elements of a product at `row0` and `column0`, which each thread keeps in registers. Every element
 * sums the steps in order, like a stored product.
 */
export function productText(t: TileText, node: number): void {
  const { w, perThread } = t;
  const { left, right, depth } = t.factors.get(node)!;
  const rowCount = threadsAcross * perThread;
  // The right factor's part follows the left factor's.
  const behind = `${tileDepth * rowCount}u + `;
  const indices = upTo(perThread);
  const columns = upTo(columnsPerThread);
  for (const r of indices) for (const c of columns) w.line(`${productName(node, r, c)} = 0.0f;`);
  w.line(`for (var d = 0u; d < ${depth}; d = d + ${tileDepth}u) {`);
  const load = (matrix: TileMatrix, side: 'left' | 'right') => {
    const count = side === 'left' ? rowCount : tileColumns;
    const isLeft = side === 'left';
    const stepStride = isLeft ? matrix.columnStride : matrix.rowStride;
    // Threads in a row read adjacent memory.
    const [step, at] =
      stepStride === 1
        ? [`i % ${tileDepth}u`, `i / ${tileDepth}u`]
        : [`i / ${count}u`, `i % ${count}u`];
    w.line(`for (var i = thread; i < ${tileDepth * count}u; i = i + ${tileThreads}u) {`);
    const slot = w.let(step);
    const outer = w.let(at);
    const [from, end] = isLeft ? [`row0 + ${outer}`, t.rows] : [`column0 + ${outer}`, t.columns];
    const k = `d + ${slot}`;
    const element = isLeft ? elementText(w, matrix, from, k) : elementText(w, matrix, k, from);
    w.line(
      'var value = 0.0f;',
      `if (${from} < ${end} && ${k} < ${depth}) { value = ${element}; }`,
      `factors[${isLeft ? '' : behind}${slot} * ${count}u + ${outer}] = value;`,
      '}',
    );
  };
  load(left, 'left');
  load(right, 'right');
  w.line(
    'workgroupBarrier();',
    `let steps = min(${tileDepth}u, ${depth} - d);`,
    'for (var j = 0u; j < steps; j = j + 1u) {',
    ...indices.map((r) => `let a${r} = factors[j * ${rowCount}u + ty + ${r * threadsAcross}u];`),
    ...columns.map(
      (c) => `let c${c} = factors[${behind}j * ${tileColumns}u + tx + ${c * threadsAcross}u];`,
    ),
    ...indices.flatMap((r) =>
      columns.map((c) => {
        const sum = productName(node, r, c);
        return `${sum} = ${sum} + a${r} * c${c};`;
      }),
    ),
    '}',
    'workgroupBarrier();',
    '}',
  );
}
