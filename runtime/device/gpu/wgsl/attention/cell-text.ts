import { productName, type TileText } from './product-text.ts';
import { columnsPerThread, rowPitch, threadsAcross, upTo } from './tile-layout.ts';

/** The tile in workgroup memory with number `array`: of each product one; values take the first. */
const cellsName = (array: number): string => `cells${array}`;

/** Declares tiles of elements, and the numbers of rows, in workgroup memory. */
export function shareCells({ w, perThread, factors, numbers }: TileText): void {
  const rows = threadsAcross * perThread;
  [...factors.keys()].forEach((_, array) => {
    w.shared(cellsName(array), `array<f32, ${rows * rowPitch}>`);
  });
  w.shared('numbers', `array<f32, ${numbers * rows}>`);
}

/** A value of a row of the tile, which `row` numbers in it. */
export function cell(row: string, column: string): string {
  return `${cellsName(0)}[(${row}) * ${rowPitch}u + ${column}]`;
}

/** The row, or the column, of the tile with number `i` among those of the thread. */
export const rowInTile = (i: number): string => `ty + ${i * threadsAcross}u`;
export const columnInTile = (i: number): string => `tx + ${i * threadsAcross}u`;

/** A number of the row with this place among those of the tile. */
export function rowNumber({ perThread }: TileText, index: number | string, row: string): string {
  return `numbers[${index} * ${threadsAcross * perThread}u + ${row}]`;
}

/**
 * Writes into each of the thread's cells what the element contributes to step `step`, and what changes nothing beyond the
 * matrix. The thread's elements of products are laid down, so that a loop finds them.
 */
export function valuesText(t: TileText): void {
  const { w, perThread } = t;
  const products = [...t.factors.keys()];
  products.forEach((node, array) => {
    for (const r of upTo(perThread)) {
      for (const c of upTo(columnsPerThread)) {
        const at = `(${rowInTile(r)}) * ${rowPitch}u + ${columnInTile(c)}`;
        w.line(`${cellsName(array)}[${at}] = ${productName(node, r, c)};`);
      }
    }
  });
  const told = [
    'step',
    'z',
    'row0 + r',
    'column0 + c',
    ...products.map((_, array) => `${cellsName(array)}[place]`),
    ...upTo(t.numbers).map((index) => rowNumber(t, `${index}u`, 'r')),
  ];
  w.line(
    `for (var e = 0u; e < ${perThread * columnsPerThread}u; e = e + 1u) {`,
    `let r = ty + (e / ${columnsPerThread}u) * ${threadsAcross}u;`,
    `let c = tx + (e % ${columnsPerThread}u) * ${threadsAcross}u;`,
    `let place = r * ${rowPitch}u + c;`,
    'var found = neutral(step);',
    `if (row0 + r < ${t.rows} && column0 + c < ${t.columns}) {`,
    `found = value(${told.join(', ')});`,
    '}',
    `${cellsName(0)}[place] = found;`,
    '}',
  );
}
