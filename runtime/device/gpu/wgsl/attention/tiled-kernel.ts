import { sizeOf } from '../../../../spec/shape.ts';
import type { TensorMeta } from '../../../tensor-meta.ts';
import { type TiledBody, type TilePass, tilePasses } from '../../../tiled-body.ts';
import { input, output, type Slot, scratch } from '../../core/kernel-plan.ts';
import { elementTypeOf } from '../elements/element-type.ts';
import { chosenByExponents } from '../pointwise-kernel.ts';
import type { Issue, WgslPlan, WgslStage } from '../wgsl-plan.ts';
import { groupsOf } from '../wgsl-text.ts';
import { WgslWriter } from '../wgsl-writer.ts';
import { rowNumber, shareCells, valuesText } from './cell-text.ts';
import { heldTiles, holdProducts, takeProducts } from './held-products.ts';
import {
  matrixText,
  productText,
  shareFactors,
  startProduct,
  type TileFactors,
  type TileMatrix,
  type TileText,
} from './product-text.ts';
import { addToResult, startResult, storeResult, type TileResult } from './result-text.ts';
import { foldFunctions, rowFoldText, sharePartials } from './row-number-text.ts';
import { rowsPerThread, threadsAcross, tileColumns, tileThreads, upTo } from './tile-layout.ts';
import {
  productsOf,
  rowNumbersOf,
  type TileStep,
  type TileValues,
  tileExponents,
  valueFunction,
} from './value-text.ts';

/** The maximum number of workgroups along z; more batches take several iterations. */
const mostSlices = 65535;

/**
 * Attention or its gradient without a score matrix in memory. In the first dispatch, a workgroup per tile of rows
 * computes the numbers of its rows (the maximum score, the sum of exponentials), then sums results over columns,
 * recomputing the scores each time. For results that are sums over rows, a second dispatch has a workgroup per tile of
 * columns, which reads these numbers from scratch memory. All sums have the same order, and so the same bits, as in the
 * separate ops.
 */
export function tiledPlan(
  body: TiledBody,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
): WgslPlan {
  const passes = tilePasses(body);
  const numbers = rowNumbersOf(body).length * body.batches * body.rows;
  return {
    scratch: passes.length > 1 ? [numbers] : [],
    stages: passes.map((pass) => passStage(pass, body, inputs, outputs, numbers)),
  };
}

function passStage(
  pass: TilePass,
  body: TiledBody,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  numbers: number,
): WgslStage {
  const isOverColumns = pass.over === 'columns';
  const operand = (slot: Slot, written: boolean, elements: number, { dtype }: Typed) => {
    return { slot, written, walk: null, elements, type: elementTypeOf(dtype) };
  };
  const perThread = rowsPerThread(body.rows);
  const tiles = isOverColumns
    ? Math.ceil(body.rows / (perThread * threadsAcross))
    : Math.ceil(body.columns / tileColumns);
  return {
    operands: [
      ...pass.operands.map((i) => operand(input(i), false, 0, inputs[i]!)),
      ...pass.results.map((i) => operand(output(i), true, sizeOf(outputs[i]!.shape), outputs[i]!)),
      ...(pass.hasRowNumbers ? [operand(scratch(0), isOverColumns, numbers, inNumbers)] : []),
    ],
    isEmpty: false,
    chosenBy: chosenByExponents(tileExponents(body)),
    write: (issue) => {
      const w = new WgslWriter(tileThreads, issue);
      new PassWriter(w, pass, { body, inputs, outputs }, issue).write();
      const groups = groupsOf(tiles, Math.min(body.batches, mostSlices));
      return { text: w.text(), uniforms: w.uniforms, groups };
    },
  };
}

type Typed = Pick<TensorMeta, 'dtype'>;
/** The dtype of row numbers. */
const inNumbers: Typed = { dtype: 'float32' };

interface TiledOp {
  readonly body: TiledBody;
  readonly inputs: readonly TensorMeta[];
  readonly outputs: readonly TensorMeta[];
}

/** Writes the text of one pass. */
class PassWriter {
  readonly #w: WgslWriter;
  readonly #pass: TilePass;
  readonly #op: TiledOp;
  readonly #values: TileValues;
  /** Row numbers, computed by the first pass, then results. */
  readonly #steps: readonly TileStep[];

  constructor(w: WgslWriter, pass: TilePass, op: TiledOp, issue: Issue) {
    this.#w = w;
    this.#pass = pass;
    this.#op = op;
    const { body, inputs } = op;
    const place = (i: number) => this.#bound(pass.operands.indexOf(i));
    this.#values = { body, inputs, attrs: issue.attrs, place };
    const numbers = pass.over === 'columns' ? rowNumbersOf(body) : [];
    this.#steps = [
      ...numbers.map((number): TileStep => ({ kind: 'number', number })),
      ...pass.results.map((index): TileStep => {
        return { kind: 'result', index, node: body.products[index]!.node };
      }),
    ];
  }

  write(): void {
    const w = this.#w;
    const batches = w.count('batches', this.#op.body.batches);
    w.line(`let tx = thread % ${threadsAcross}u;`, `let ty = thread / ${threadsAcross}u;`);
    w.line(`for (var z = at.z; z < ${batches}; z = z + count.z) {`);
    const t = this.#start();
    const results = this.#pass.results.map((index, i) => this.#result(index, i));
    for (const result of results) startResult(t, result);
    if (this.#pass.over === 'columns') this.#overColumns(t, results);
    else this.#overRows(t, results);
    for (const result of results) storeResult(t, result);
    w.line('}');
  }

  /** Returns the stage's operand with this index. */
  #bound(operand: number) {
    return { operand, first: this.#w.offset(operand) };
  }

  #start(): TileText {
    const w = this.#w;
    const { body, inputs } = this.#op;
    const products = new Set(this.#steps.flatMap((step) => productsOf(step, body)));
    const factors = new Map<number, TileFactors>();
    body.nodes.forEach((node, index) => {
      if (node.kind !== 'product' || !products.has(index)) return;
      const [left, right] = [node.left, node.right].map((i, side) =>
        matrixText(w, inputs[i]!, this.#values.place(i), `m${index}_${side}`),
      ) as [TileMatrix, TileMatrix];
      const depth = w.count(`depth${index}`, inputs[node.left]!.shape.at(-1)!);
      factors.set(index, { left, right, depth });
    });
    const t: TileText = {
      w,
      perThread: rowsPerThread(body.rows),
      rows: w.count('rows', body.rows),
      columns: w.count('columns', body.columns),
      factors,
      numbers: rowNumbersOf(body).length,
    };
    shareFactors(t);
    shareCells(t);
    foldFunctions(w, this.#steps);
    valueFunction(w, this.#values, this.#steps, [...factors.keys()]);
    for (const node of factors.keys()) startProduct(t, node);
    return t;
  }

  #result(index: number, place: number): TileResult {
    const w = this.#w;
    const { body, inputs, outputs } = this.#op;
    const { factor, over, isLeft } = body.products[index]!;
    const oriented = (matrix: TileMatrix): TileMatrix =>
      isLeft
        ? matrix
        : { ...matrix, rowStride: matrix.columnStride, columnStride: matrix.rowStride };
    const [meta, out] = [inputs[factor]!, outputs[index]!];
    const bound = this.#bound(this.#pass.operands.length + place);
    return {
      name: `o${index}`,
      over,
      factor: oriented(matrixText(w, meta, this.#values.place(factor), `f${index}`)),
      out: oriented(matrixText(w, out, bound, `r${index}`)),
      width: out.shape.at(isLeft ? -1 : -2)!,
    };
  }

  /** Writes a tile of rows: each step iterates over all its columns. */
  #overColumns(t: TileText, results: readonly TileResult[]): void {
    const w = this.#w;
    const { columns } = this.#op.body;
    const isSingle = columns <= tileColumns;
    sharePartials(t);
    w.line(`let row0 = group * ${t.perThread * threadsAcross}u;`);
    // The products of few tiles are computed once.
    const held = heldTiles(columns, t.factors.size);
    if (held > 0) holdProducts(t, held);
    if (isSingle) for (const node of t.factors.keys()) this.#product(t, node, '0u');
    w.line(`for (var step = 0u; step < ${this.#steps.length}u; step = step + 1u) {`);
    const fold = rowFoldText(t, columns);
    fold.start();
    w.line(`for (var column0 = 0u; column0 < ${t.columns}; column0 = column0 + ${tileColumns}u) {`);
    if (held > 0) takeProducts(t, held);
    else if (!isSingle) for (const node of t.factors.keys()) this.#productWhereRead(t, node);
    valuesText(t);
    this.#eachStep(
      t.numbers,
      () => fold.add(),
      (i) => this.#addTo(t, results[i]!),
    );
    w.line('}', `if (step < ${t.numbers}u) {`);
    fold.finish();
    w.line('}', '}');
    if (this.#pass.hasRowNumbers) {
      this.#eachNumber(t, (i) => {
        const { operand, index } = this.#stored(t, i);
        return w.store(operand, index, rowNumber(t, `${i}u`, 'thread'));
      });
    }
  }

  /** Writes a tile of columns: iterates over the tiles of rows, each for all steps. */
  #overRows(t: TileText, results: readonly TileResult[]): void {
    const w = this.#w;
    const count = t.perThread * threadsAcross;
    w.line(`let column0 = group * ${tileColumns}u;`);
    w.line(`for (var row0 = 0u; row0 < ${t.rows}; row0 = row0 + ${count}u) {`);
    this.#eachNumber(t, (i) => {
      const { operand, index } = this.#stored(t, i);
      return `${rowNumber(t, `${i}u`, 'thread')} = ${w.load(operand, index)};`;
    });
    w.line('workgroupBarrier();');
    for (const node of t.factors.keys()) productText(t, node);
    w.line(`for (var step = 0u; step < ${this.#steps.length}u; step = step + 1u) {`);
    valuesText(t);
    this.#eachStep(
      0,
      () => {},
      (i) => this.#addTo(t, results[i]!),
    );
    w.line('}', '}');
  }

  #addTo(t: TileText, result: TileResult): void {
    this.#w.line('workgroupBarrier();');
    addToResult(t, result);
  }

  /** Writes the work of each step: `numbers` for steps that compute row numbers, or `result` for each result. */
  #eachStep(numbers: number, number: () => void, result: (i: number) => void): void {
    const w = this.#w;
    if (numbers > 0) {
      w.line(`if (step < ${numbers}u) {`);
      number();
      w.line('}');
    }
    this.#pass.results.forEach((_, i) => {
      w.line(`if (step == ${numbers + i}u) {`);
      result(i);
      w.line('}');
    });
  }

  #product(t: TileText, node: number, column0: string): void {
    t.w.line('{', `let column0 = ${column0};`);
    productText(t, node);
    t.w.line('}');
  }

  /** Writes the product, in the steps that read it. */
  #productWhereRead(t: TileText, node: number): void {
    const { body } = this.#op;
    const readers = this.#steps.flatMap((step, i) =>
      productsOf(step, body).includes(node) ? [`step == ${i}u`] : [],
    );
    t.w.line(readers.length < this.#steps.length ? `if (${readers.join(' || ')}) {` : '{');
    productText(t, node);
    t.w.line('}');
  }

  /** Writes statements for each number of each row of the tile; the first threads have one row each. */
  #eachNumber(t: TileText, statement: (index: number) => string): void {
    const count = t.perThread * threadsAcross;
    this.#w.line(
      `if (thread < ${count}u && row0 + thread < ${t.rows}) {`,
      ...upTo(t.numbers).map(statement),
      '}',
    );
  }

  /** Returns the location of a row's number in scratch memory. */
  #stored(t: TileText, number: number) {
    const { operands, results } = this.#pass;
    const { operand, first } = this.#bound(operands.length + results.length);
    const batches = this.#w.count('batches', this.#op.body.batches);
    const index = `${first} + (${number}u * ${batches} + z) * ${t.rows} + row0 + thread`;
    return { operand, index };
  }
}
