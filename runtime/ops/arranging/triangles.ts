/** Parts of matrices above or below a diagonal. */

import { formatSpec } from '../../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { tensor } from '../core/create.ts';
import type { Operand } from '../core/promotion.ts';
import { reshape } from '../movement/movement.ts';
import { arange, fullLike } from '../movement/ranges.ts';
import { diagonal } from '../movement/views.ts';
import { plus } from '../numbers/number-arithmetic.ts';
import { ge, le, where } from '../pointwise/comparison.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { expectNumber, expectWhole, numbersIn } from '../record/positional.ts';
import { sum } from '../reduce/reduce.ts';

type Compare = (a: Tensor, b: Operand) => Tensor;

function triangle(name: string, x: Tensor, offset: number, kept: Compare): Tensor {
  expectNumber(name, 'offset', offset);
  if (x.rank < 2) {
    throw new ShapeError({
      what: `${name}: not a matrix`,
      given: formatSpec(x),
      expected: 'at least two dimensions',
      remedy: 'unsqueeze() the tensor first',
    });
  }
  const [rows, columns] = x.shape.slice(-2) as [number, number];
  return tidy(() => {
    const like = { dtype: 'int32', device: x.device } as const;
    const row = reshape(arange(offset, plus(offset, rows), 1, like), [rows, 1]);
    const column = arange(0, columns, 1, like);
    return where(kept(row, column), x, fullLike(x, 0, { shape: [] }));
  });
}

/** Returns int32 [2, n]: the row and column of each position that `kept` selects, in row-major order. */
function placesOf(
  name: string,
  sizes: readonly number[],
  offset: number,
  kept: (row: number, column: number) => boolean,
) {
  const [rows = Number.NaN, columns = Number.NaN] = numbersIn(name, 'size', sizes);
  expectWhole(name, 'offset', offset);
  for (const size of [rows, columns]) {
    if (Number.isInteger(size) && size >= 0) continue;
    throw new ArgumentError({
      what: `${name}: not a shape`,
      given: `${rows} × ${columns}`,
      expected: 'integers from 0 on',
      remedy: 'pass the number of rows and of columns',
    });
  }
  const found: [row: number[], column: number[]] = [[], []];
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      if (!kept(row, column)) continue;
      found[0].push(row);
      found[1].push(column);
    }
  }
  return tensor(Int32Array.from(found.flat()), { shape: [2, found[0].length] });
}

/** Returns int32 [2, n]: the positions of the elements that `tril` keeps of a rows×columns matrix. */
export function trilIndices(rows: number, columns: number, offset = 0): Tensor {
  return placesOf('trilIndices', [rows, columns], offset, (row, column) => column - row <= offset);
}

/** Returns int32 [2, n]: the positions of the elements that `triu` keeps of a rows×columns matrix. */
export function triuIndices(rows: number, columns: number, offset = 0): Tensor {
  return placesOf('triuIndices', [rows, columns], offset, (row, column) => column - row >= offset);
}

/** The elements on and below a diagonal of the last two dimensions; 0 elsewhere. */
export function tril(x: Tensor, offset = 0): Tensor {
  expectTensors('tril', x);
  return triangle('tril', x, offset, ge);
}

/** The elements on and above a diagonal of the last two dimensions; 0 elsewhere. */
export function triu(x: Tensor, offset = 0): Tensor {
  expectTensors('triu', x);
  return triangle('triu', x, offset, le);
}

/** The sum of a matrix's main diagonal. */
export function trace(x: Tensor): Tensor {
  return naming('trace', () => {
    expectTensors('trace', x);
    if (x.rank !== 2) {
      throw new ShapeError({
        what: 'trace: not a matrix',
        given: formatSpec(x),
        expected: '[n, m]',
        remedy: 'of a batch: x.diagonal(0, -2, -1).sum(-1)',
      });
    }
    return tidy(() => sum(diagonal(x)));
  });
}
