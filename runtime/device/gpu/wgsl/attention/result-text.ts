import type { TileProduct } from '../../../tiled-body.ts';
import { cell, rowInTile } from './cell-text.ts';
import { elementText, indexText, type TileMatrix, type TileText } from './product-text.ts';
import { columnsPerThread, threadsAcross, tileColumns, tileThreads, upTo } from './tile-layout.ts';

/** A result of a pass: a sum over tiles, with some elements in each thread's registers. */
export interface TileResult {
  readonly name: string;
  readonly over: TileProduct['over'];
  /** The other factor and the result, with rows along the node's sides; sums run over the factor's rows. */
  readonly factor: TileMatrix;
  readonly out: TileMatrix;
  /** The number of result columns. */
  readonly width: number;
}

/** The number of elements of a factor's row in workgroup memory at a time. */
const blockWidth = tileColumns;

const sumName = (name: string, own: number, column: number) => `${name}_${own}_${column}`;

/** Returns the number of result rows and columns per thread. */
function ownOf({ perThread }: TileText, { over, width }: TileResult) {
  return {
    own: upTo(over === 'columns' ? perThread : columnsPerThread),
    columns: upTo(Math.ceil(width / threadsAcross)),
  };
}

export function startResult(t: TileText, result: TileResult): void {
  const { own, columns } = ownOf(t, result);
  for (const r of own) {
    for (const c of columns) t.w.line(`var ${sumName(result.name, r, c)} = 0.0f;`);
  }
}

/** Writes the contribution of the cells at `row0` and `column0` to a result, in the order of summation. */
export function addToResult(t: TileText, result: TileResult): void {
  const { w, perThread } = t;
  const { name, over, factor, width } = result;
  const isOverColumns = over === 'columns';
  const [start, end] = isOverColumns ? ['column0', t.columns] : ['row0', t.rows];
  const count = isOverColumns ? tileColumns : threadsAcross * perThread;
  const { own, columns } = ownOf(t, result);
  const [step, at] =
    factor.rowStride === 1 && factor.columnStride !== 1
      ? [`i % ${count}u`, `i / ${count}u`]
      : [`i / ${blockWidth}u`, `i % ${blockWidth}u`];
  const extent = w.count(`${name}_width`, width);
  const perBlock = blockWidth / threadsAcross;
  for (let first = 0; first < columns.length; first += perBlock) {
    const block = columns.slice(first, first + perBlock);
    w.line(`for (var i = thread; i < ${count * blockWidth}u; i = i + ${tileThreads}u) {`);
    const j = w.let(step);
    const column = w.let(at);
    const from = `${first * threadsAcross}u + ${column}`;
    w.line(
      'var value = 0.0f;',
      `if (${start} + ${j} < ${end} && ${from} < ${extent}) { value = ${elementText(w, factor, `${start} + ${j}`, from)}; }`,
      `factors[${j} * ${blockWidth}u + ${column}] = value;`,
      '}',
      'workgroupBarrier();',
      // Products beyond the end would turn 0 × Infinity into NaN.
      `for (var j = 0u; j < min(${count}u, ${end} - ${start}); j = j + 1u) {`,
      ...own.map((r) => {
        const from = isOverColumns ? cell(rowInTile(r), 'j') : cell('j', rowInTile(r));
        return `let a${r} = ${from};`;
      }),
      ...block.map(
        (_, c) => `let c${c} = factors[j * ${blockWidth}u + tx + ${c * threadsAcross}u];`,
      ),
      ...own.flatMap((r) =>
        block.map((column, c) => {
          const sum = sumName(name, r, column);
          return `${sum} = ${sum} + a${r} * c${c};`;
        }),
      ),
      '}',
      'workgroupBarrier();',
    );
  }
}

/** Writes the stores of the thread's elements of a result. */
export function storeResult(t: TileText, result: TileResult): void {
  const { w } = t;
  const { name, over, out, width } = result;
  const { own, columns } = ownOf(t, result);
  const extent = w.count(`${name}_width`, width);
  for (const r of own) {
    const [row, end] =
      over === 'columns'
        ? [`row0 + ${rowInTile(r)}`, t.rows]
        : [`column0 + ${rowInTile(r)}`, t.columns];
    w.line(`if (${row} < ${end}) {`);
    for (const c of columns) {
      const column = `tx + ${c * threadsAcross}u`;
      w.line(
        `if (${column} < ${extent}) { ${w.store(out.operand, indexText(w, out, row, column), sumName(name, r, c))} }`,
      );
    }
    w.line('}');
  }
}
