/** Every op that takes options rejects names and values that it doesn't know. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as ours from '../../src/index.ts';
import { type Tensor, TostaticError, tensor } from '../../src/index.ts';

interface Taker {
  /** Valid values of all options that the op has. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly call: (options: never) => unknown;
}

const taking = <O extends object>(options: Required<O>, call: (options: O) => unknown): Taker => ({
  options: options as Readonly<Record<string, unknown>>,
  call,
});

const ones = (...shape: number[]): Tensor => ours.ones(shape);
const vector = tensor([0.3, 0.6, 0.9]);
const square = tensor([
  [2, 0.5],
  [0.5, 3],
]);
const places = tensor([0, 1, 2], { dtype: 'int32' });
const [image, sequence] = [ones(1, 2, 4, 4), ones(1, 2, 4)];
const tokens = ones(1, 2, 2, 4);

const convolution = { stride: 1, padding: 0, dilation: 1, groups: 1 };
const transposed = { ...convolution, outputPadding: 0 };
const norm = { weight: ones(3), bias: ones(3), momentum: 0.1, eps: 1e-5 };
const closeness = { rtol: 0.1, atol: 0.1, equalNan: true };
const trapezoids = { x: vector, dx: 1, dim: 0 };
const searching = { right: true };

const takers: Readonly<Record<string, Taker>> = {
  conv1d: taking<ours.ConvOptions<number>>(convolution, (o) =>
    ours.conv1d(sequence, ones(2, 2, 2), null, o),
  ),
  conv2d: taking<ours.ConvOptions>(convolution, (o) =>
    ours.conv2d(image, ones(2, 2, 2, 2), null, o),
  ),
  convTranspose1d: taking<ours.ConvTransposeOptions<number>>(transposed, (o) =>
    ours.convTranspose1d(sequence, ones(2, 2, 2), null, o),
  ),
  convTranspose2d: taking<ours.ConvTransposeOptions>(transposed, (o) =>
    ours.convTranspose2d(image, ones(2, 2, 2, 2), null, o),
  ),
  maxPool2d: taking(
    { stride: 1, padding: 0, dilation: 1, ceilMode: true, returnIndices: true as const },
    (o) => ours.maxPool2d(image, 2, o),
  ),
  adaptiveMaxPool2d: taking({ returnIndices: true as const }, (o) =>
    ours.adaptiveMaxPool2d(image, 2, o),
  ),
  avgPool2d: taking(
    { stride: 1, padding: 0, ceilMode: true, countIncludePad: true, divisorOverride: 2 },
    (o) => ours.avgPool2d(image, 2, o),
  ),
  interpolate: taking({ size: [3, 3], mode: 'bilinear' as const, alignCorners: true }, (o) =>
    ours.interpolate(image, o),
  ),
  'interpolate by a factor': taking({ scaleFactor: 2, recomputeScaleFactor: true }, (o) =>
    ours.interpolate(image, o),
  ),
  im2col: taking({ dilation: 1, padding: 0, stride: 1 }, (o) => ours.im2col(image, 2, o)),
  cholesky: taking({ upper: true }, (o) => square.cholesky(o)),
  svd: taking({ fullMatrices: true }, (o) => ours.svd(square, o)),
  pinv: taking({ rtol: 0.1, atol: 0.1 }, (o) => ours.pinv(square, o)),
  matrixRank: taking({ rtol: 0.1, atol: 0.1, hermitian: true }, (o) => ours.matrixRank(square, o)),
  luSolve: taking({ left: true, adjoint: true }, (o) =>
    ours.luSolve(...ours.luFactor(square), square, o),
  ),
  lstsq: taking({ rcond: 0.1 }, (o) => ours.lstsq(square, square, o)),
  eigh: taking({ uplo: 'U' as const }, (o) => ours.eigh(square, o)),
  nonzero: taking({ asTuple: true as const }, (o) => square.nonzero(o)),
  solve: taking({ left: true }, (o) => ours.solve(square, square, o)),
  solveTriangular: taking({ upper: true, left: true, unitriangular: false }, (o) =>
    ours.solveTriangular(square, square, o),
  ),
  triangularSolve: taking({ upper: true, transpose: false, unitriangular: false }, (o) =>
    square.triangularSolve(square, o),
  ),
  batchNorm: taking({ ...norm, training: true }, (o) =>
    ours.batchNorm(ones(2, 3), ones(3), ones(3), o),
  ),
  instanceNorm: taking(
    { ...norm, runningMean: ones(3), runningVar: ones(3), useInputStats: true },
    (o) => ours.instanceNorm(ones(2, 3, 4), o),
  ),
  isclose: taking(closeness, (o) => vector.isclose(vector, o)),
  allclose: taking(closeness, (o) => vector.allclose(vector, o)),
  scatterReduce: taking({ includeSelf: true }, (o) =>
    vector.scatterReduce(0, places, vector, 'sum', o),
  ),
  indexReduce: taking({ includeSelf: true }, (o) =>
    vector.indexReduce(0, places, vector, 'prod', o),
  ),
  indexPut: taking({ accumulate: true }, (o) => vector.indexPut([places], vector, o)),
  indexPut_: taking({ accumulate: true }, (o) => vector.clone().indexPut_([places], vector, o)),
  embedding: taking({ paddingIdx: 0, maxNorm: 1, normType: 2, scaleGradByFreq: true }, (o) =>
    ours.embedding(ones(3, 2), places, o),
  ),
  div: taking({ roundingMode: 'floor' as const }, (o) => vector.div(2, o)),
  isin: taking({ invert: true }, (o) => vector.isin(vector, o)),
  cov: taking({ correction: 1, fweights: ones(2).int(), aweights: ones(2) }, (o) => square.cov(o)),
  var: taking({ dim: 0, keepDim: true, correction: 1 }, (o) => vector.var(o)),
  normalize: taking({ p: 2, dim: 0, eps: 1e-12 }, (o) => ours.normalize(vector, o)),
  pairwiseDistance: taking({ p: 2, eps: 1e-6, keepDim: true }, (o) =>
    ours.pairwiseDistance(square, square, o),
  ),
  scaledDotProductAttention: taking(
    {
      attnMask: ones(2, 2),
      dropoutP: 0,
      isCausal: false,
      scale: 1,
      enableGqa: true,
      returnWeights: true as const,
    },
    (o) => ours.scaledDotProductAttention(tokens, tokens, tokens, o),
  ),
  addmm: taking({ beta: 2, alpha: 2 }, (o) => square.addmm(square, square, o)),
  diff: taking({ prepend: vector, append: vector }, (o) => vector.diff(1, 0, o)),
  gradient: taking({ spacing: 1, dim: 0, edgeOrder: 1 as const }, (o) => ours.gradient(vector, o)),
  trapezoid: taking(trapezoids, (o) => ours.trapezoid(vector, o)),
  cumulativeTrapezoid: taking(trapezoids, (o) => ours.cumulativeTrapezoid(vector, o)),
  searchsorted: taking(searching, (o) => ours.searchsorted(vector, vector, o)),
  bucketize: taking(searching, (o) => vector.bucketize(vector, o)),
  unique: taking({ returnInverse: true, returnCounts: true, dim: 0, sorted: true }, (o) =>
    vector.unique(o),
  ),
  uniqueConsecutive: taking({ returnInverse: true, returnCounts: true, dim: 0 }, (o) =>
    ours.uniqueConsecutive(vector, o),
  ),
  sort: taking({ dim: 0, descending: true, stable: true }, (o) => vector.sort(o)),
  tensor: taking({ dtype: 'float32' as const, shape: [1, 2] }, (o) => tensor([1, 2], o)),
  topk: taking({ dim: 0, largest: true, sorted: true }, (o) => vector.topk(1, o)),
};

/** No option takes all of them. Ops compute with NaN as with any number. */
const wrong: readonly unknown[] = [{}, 'sideways', Symbol('option'), () => {}];

/** An object in this place holds keywords, or names no dimension: all are meant. */
const objectsTaken: readonly string[] = ['dim'];

function errorOf(call: () => unknown): unknown {
  try {
    call();
    return null;
  } catch (error) {
    return error;
  }
}

describe.each(Object.entries(takers))('%s', (_, { options, call }) => {
  it('takes all of its options', () => {
    expect(errorOf(() => call(options as never))).toBeNull();
  });

  it('rejects a misspelt name', () => {
    for (const name of Object.keys(options)) {
      const misspelt = `${name}${name.at(-1)}`;
      const error = errorOf(() => call({ ...options, [misspelt]: options[name] } as never));
      expect(error).toMatchObject({ name: 'ArgumentError', given: misspelt });
    }
  });

  it('rejects values of another type', () => {
    for (const name of Object.keys(options)) {
      for (const value of wrong) {
        if (typeof value === 'object' && objectsTaken.includes(name)) continue;
        const error = errorOf(() => call({ ...options, [name]: value } as never));
        expect(error, `${name} = ${String(value)}`).toBeInstanceOf(TostaticError);
      }
    }
  });
});

it('no op with options is left out', () => {
  const folder = 'runtime/ops';
  const names = (readdirSync(folder, { recursive: true }) as string[])
    // Losses are among the other functions.
    .filter((name) => name.endsWith('.ts') && !name.startsWith('loss'))
    .flatMap((name) => [
      ...readFileSync(join(folder, name), 'utf8').matchAll(/\bexpectOptions\(\s*'(\w+)'/g),
    ])
    .map(([, name]) => name!);
  expect(names.length).toBeGreaterThan(20);
  expect(new Set(names.filter((name) => !(name in takers)))).toEqual(new Set(['asTensor']));
});
