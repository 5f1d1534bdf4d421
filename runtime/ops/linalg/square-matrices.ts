/** Requirements on operands of linear algebra. */

import { formatSpec, type TensorMeta } from '../../device/tensor-meta.ts';
import { DTypeError, ShapeError } from '../../errors/errors.ts';
import { dtypes } from '../../spec/dtype.ts';

function expectSquare(name: string, x: TensorMeta): void {
  if (x.shape.length >= 2 && x.shape.at(-1) === x.shape.at(-2)) return;
  throw new ShapeError({
    what: `${name}: not square matrices`,
    given: formatSpec(x),
    expected: '[…, n, n]',
    remedy:
      x.shape.length < 2
        ? 'reshape() the tensor: its last two dimensions are the matrix'
        : 'pass square matrices; x.mT.matmul(x) is one',
  });
}

/** Throws ShapeError for a tensor with fewer than two dimensions. */
export function expectMatrices(name: string, x: TensorMeta): void {
  if (x.shape.length >= 2) return;
  throw new ShapeError({
    what: `${name}: not matrices`,
    given: formatSpec(x),
    expected: '[…, m, n]',
    remedy: 'reshape() the tensor: its last two dimensions are the matrix',
  });
}

/** Throws DTypeError for operands that are not floating-point numbers of one dtype. */
export function expectFloating(name: string, ...operands: readonly TensorMeta[]): void {
  const { dtype } = operands[0]!;
  if (dtypes[dtype].floating && operands.every((each) => each.dtype === dtype)) return;
  throw new DTypeError({
    what: `${name}: not floating-point tensors of one dtype`,
    given: operands.map(formatSpec).join(' and '),
    expected: 'float32 or float64, the same for all operands',
    remedy: "cast them: x.to('float32')",
  });
}

/** Infers functions from square matrices to matrices of the same size. */
export function inferSquare(name: string) {
  return ([x]: readonly TensorMeta[]) => {
    expectFloating(name, x!);
    expectSquare(name, x!);
    return { dtype: x!.dtype, shape: x!.shape };
  };
}

/** Infers functions from square matrices to one number each. */
export function inferPerMatrix(name: string) {
  return ([x]: readonly TensorMeta[]) => {
    expectFloating(name, x!);
    expectSquare(name, x!);
    return { dtype: x!.dtype, shape: x!.shape.slice(0, -2) };
  };
}

/** Infers linear systems: [.., n, n] and [.., n, k], with equal leading dimensions → [.., n, k]. */
export function inferSystem(name: string) {
  return ([a, b]: readonly TensorMeta[]) => {
    expectFloating(name, a!, b!);
    expectSystem(name, a!, b!);
    return { dtype: b!.dtype, shape: b!.shape };
  };
}

export function expectSystem(name: string, a: TensorMeta, b: TensorMeta): void {
  expectSquare(name, a);
  if (b.shape.length >= 2 && b.shape.at(-2) === a.shape.at(-1)) return;
  throw new ShapeError({
    what: `${name}: the right sides don't fit the matrices`,
    given: `${formatSpec(a)} and ${formatSpec(b)}`,
    expected: '[…, n, n] and […, n, k] with the same n',
    remedy: 'transpose the right sides (b.mT), or unsqueeze(-1) a vector',
  });
}
